"""Every kind of input and event is handled, and journals know it by the name that it has there."""

import inspect
import typing

import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model import events, inputs
from fairshare.core.model.events import BookkeepingEvent, ClusterEvent, Event
from fairshare.core.model.state import ClusterState
from fairshare.core.schedulers.capacity import events as capacity_events
from fairshare.core.schedulers.fair import tree as fair_events
from fairshare.core.schedulers.pools.settings import TYPES
from fairshare.settings.registry import FAMILIES

INPUTS = typing.get_args(inputs.Input)
EVENTS = (
    *typing.get_args(ClusterEvent),
    *(event for family in FAMILIES.values() for event in family.events),
)
STATES = {name: family.create(TYPES).state for name, family in FAMILIES.items()}


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNKNOWN_TO: dict[str, frozenset[str]] = {
    "capacity": words(
        """
        PreemptedRoomChanged QueueConversionPending StarvationServed
        """
    ),
    "fair": words(
        """
        ApplicationsOrdered ContainerSpared HeadroomComputed LabelsChanged LimitsComputed
        NodesLabelled QueueEntitled QueueExpiring QueueLimited ReservationMoved
        UserLimitsComputed UserNoted
        """
    ),
    "fifo": words(
        """
        ApplicationsOrdered ContainerMarked ContainerSpared HeadroomComputed LabelsChanged
        LimitsComputed NodesLabelled PreemptedRoomChanged QueueConversionPending
        QueueEntitled QueueExpiring QueueLimited QueuesConfigured ReservationMoved
        SharesUpdated StarvationServed UserLimitsComputed UserNoted
        """
    ),
    "pools": words(
        """
        ApplicationsOrdered ContainerMarked ContainerSpared HeadroomComputed LabelsChanged
        LimitsComputed NodesLabelled PreemptedRoomChanged QueueConversionPending
        QueueEntitled QueueExpiring QueueLimited QueuesConfigured ReservationMoved
        UserLimitsComputed UserNoted
        """
    ),
}
"""By scheduler, the events that it never emits, and so need not know."""

# Names are added here, and none is ever taken away: journals that have them are still read.
INPUT_TAGS = words(
    """
        AddLabels AddTasks BeginDue ChangeBlacklist ChangeLifetime ContainerExited
        ContainerStarted ContinueNumbers DecommissionNode DrainNode
        FinishApplication ForgetApplications GangDue
        HoldApplication ReleaseApplication RequeueApplication
        KillApplication KillTask LabelNodes LaunchContainer LifetimeOver LoadConfiguration
        MasterRegistered MoveApplication NodeBeat NodeDue NodeJoined NodeLost NodeResized
        OvercommitOver PreemptContainers ReleaseContainers ReloadRefused RemoveLabels
        RequestContainers
        ReserveApplication SetPriority SetSafeMode SubmitApplication TidyQueues
        TasksDue UndrainNode UnregisterMaster UpdateApplication UpdateShares
        UpdateUsage MakeBooking CancelBooking AdvanceBookings
        """
)
EVENT_TAGS = words(
    """
        ApplicationAdmitted ApplicationDeferred
        ApplicationEnded ApplicationMoved ApplicationNumberTaken
        ApplicationRejected ApplicationSubmitted ApplicationUpdated ApplicationsForgotten
        ApplicationsOrdered AsksChanged AttemptEnded AttemptStarted BlacklistChanged
        ConfigurationLoaded ContainerAllocated ContainerCompleted ContainerHeld ContainerLaunched
        GangPaused GangRestarted GangResumed
        ContainerMarked ContainerReserved ContainerRunning ContainerSpared HeadroomComputed
        LabelsChanged LifetimeSet LimitsComputed MasterStarted MasterUnregistered
        NodeAdded NodeDrained NodeOvercommitted NodeRemoved NodeTotalChanged NodeUndrained
        NodesLabelled NumbersContinued NodeFailing NodeTried NodeRecovered
        TaskKilled TaskPaused TasksResumed
        OffersCounted PreemptedRoomChanged PriorityChanged QueueConversionPending
        QueueCreated QueueDynamicChanged QueueEntitled QueueExpiring QueueLimited
        QueueRemoved QueuesConfigured RequestRefused ReservationDropped ReservationMoved
        RoomFreed SafeModeChanged SharesUpdated StarvationServed TasksAdded UserLimitsComputed
        UsageUpdated UserNoted BookingMade BookingCancelled BookingsAdvanced
        """
)


@pytest.mark.parametrize("kind", INPUTS, ids=lambda kind: kind.__name__)
def test_every_input_is_handled(kind):
    for family in FAMILIES.values():
        manager = ResourceManager(family.create(TYPES))
        assert kind in manager._inputs, f"{kind.__name__}: write a method for it in ResourceManager"


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_applied(kind):
    """By all states; or by those of the schedulers that emit it, which are named above."""
    missing = {name for name, state in STATES.items() if kind not in state.handlers}
    allowed = {name for name in STATES if kind.__name__ in UNKNOWN_TO[name]}
    assert missing == allowed, (
        f"{kind.__name__}: write a handler for it in ClusterState, or in the scheduler's state"
    )


@pytest.mark.parametrize("table", [*STATES.values()], ids=[*STATES])
def test_every_handler_belongs_to_an_event(table):
    assert set(table.handlers) <= set(EVENTS)
    assert all(inspect.ismethod(method) for method in table.handlers.values())
    assert isinstance(table, ClusterState)


@pytest.mark.parametrize(
    ("kinds", "tags"), [(INPUTS, INPUT_TAGS), (EVENTS, EVENT_TAGS)], ids=["inputs", "events"]
)
def test_journals_have_the_names_of_these_classes(kinds, tags):
    """Another name would be another format: `tests/unit/server/test_format.py`."""
    assert {kind.__struct_config__.tag for kind in kinds} == tags


def test_inputs_and_events_are_all_in_their_unions():
    modules = (inputs, events, capacity_events, fair_events)
    for module in modules:
        for name, kind in vars(module).items():
            tagged = getattr(getattr(kind, "__struct_config__", None), "tag", None)
            if inspect.isclass(kind) and tagged and kind not in (Event, BookkeepingEvent):
                assert kind in (*EVENTS, *INPUTS), f"{name} is missing in its union"


def test_schedulers_emit_events_of_the_union_only():
    """Every subclass of `Event` that the package defines can be read from a journal."""
    waiting, found = [Event], set()
    while waiting:
        subclasses = waiting.pop().__subclasses__()
        waiting += subclasses
        found.update(one for one in subclasses if one.__module__.startswith("fairshare."))
    assert found - {BookkeepingEvent} == set(EVENTS)
