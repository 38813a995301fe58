"""Who may kill, move or reorder an application, decided in the core."""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ApplicationState, RequestRefused
from fairshare.core.model.inputs import (
    ChangeLifetime,
    KillApplication,
    KillTask,
    LoadConfiguration,
    MoveApplication,
    SetPriority,
    SubmitApplication,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.settings.registry import family_of

QUEUES = (
    QueueSettings("root", parent=True, submit_acl=" ", administer_acl="head"),
    QueueSettings("root.a", submit_acl="ann,bob", administer_acl="lead leads"),
    QueueSettings("root.b", submit_acl="ann", administer_acl=" "),
    QueueSettings("root.c", submit_acl="zoe", administer_acl=" "),
)


def manager(*, acl_enabled: bool = True, administrators: str = "boss admins") -> ResourceManager:
    """A manager with an application of ann in root.a."""
    settings = FairSettings(
        acl_enabled=acl_enabled,
        administrators=administrators,
        allocations=AllocationSettings(queues={one.name: one for one in QUEUES}, from_file=True),
    )
    made = ResourceManager(family_of("fair").create(ResourceTypes()))
    made.handle(0, LoadConfiguration(msgspec.json.encode(settings), 1))
    tasks = (TaskGroup("t", 1, (1024, 1)),)
    made.handle(1, SubmitApplication("ann", "root.a", tasks=tasks))
    return made


def refusal(events) -> str | None:
    return next((event.code for event in events if isinstance(event, RequestRefused)), None)


ALLOWED = [
    ("", ()),  # the system itself
    ("ann", ()),  # the owner
    ("lead", ()),
    ("eve", ("leads",)),
    ("head", ()),  # of root, and so of everything
    ("boss", ()),
    ("eve", ("staff", "admins")),
]
DENIED = [("bob", ()), ("eve", ()), ("eve", ("staff",)), ("leads", ())]


@pytest.mark.parametrize(("user", "groups"), ALLOWED)
def test_owners_and_administrators_may_kill(user, groups):
    made = manager()
    events = made.handle(2, KillApplication(1, user=user, groups=groups))
    assert refusal(events) is None
    assert made.state.applications[1].state is ApplicationState.KILLED


@pytest.mark.parametrize(("user", "groups"), DENIED)
@pytest.mark.parametrize(
    "wish",
    [
        KillApplication(1),
        KillTask(1, 0, 0),
        MoveApplication(1, "root.b"),
        SetPriority(1, 3),
        ChangeLifetime(1, 9_000),
    ],
)
def test_others_may_not_and_nothing_changes(wish, user, groups):
    made = manager()
    events = made.handle(2, msgspec.structs.replace(wish, user=user, groups=groups))
    assert [type(event) for event in events] == [RequestRefused]
    assert refusal(events) == "access-denied"
    assert f"User {user} does not have permission" in events[0].reason
    assert made.state.applications[1].state is ApplicationState.RUNNING
    assert made.state.applications[1].queue == "root.a"


def test_a_move_needs_the_right_to_submit_to_the_target():
    made = manager()
    assert refusal(made.handle(2, MoveApplication(1, "root.c", "ann"))) == "access-denied"
    assert refusal(made.handle(3, MoveApplication(1, "root.b", "ann"))) is None
    assert made.state.applications[1].queue == "root.b"


def test_without_access_control_all_users_may_change_applications():
    made = manager(acl_enabled=False)
    assert refusal(made.handle(2, MoveApplication(1, "root.c", "eve"))) is None
    assert refusal(made.handle(3, KillApplication(1, user="eve"))) is None


def test_by_hadoops_default_all_users_are_administrators():
    made = manager(administrators="*")
    assert refusal(made.handle(2, KillApplication(1, user="eve"))) is None


def test_the_cluster_as_a_whole_is_for_administrators_alone():
    scheduler = manager().scheduler
    asked = [("boss", ()), ("eve", ("admins",)), ("head", ()), ("lead", ()), ("eve", ())]
    assert [scheduler.may_administer("", *one) for one in asked] == [True, True] + [False] * 3


def test_under_fifo_all_users_may_change_applications():
    made = ResourceManager(family_of("fifo").create(ResourceTypes()))
    made.handle(0, LoadConfiguration(msgspec.json.encode(FifoSettings()), 1))
    made.handle(1, SubmitApplication("ann", tasks=(TaskGroup("t", 1, (1024, 1)),)))
    assert refusal(made.handle(2, KillApplication(1, user="eve"))) is None


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (KillApplication, b'{"type":"KillApplication","application":1,"diagnostics":"why"}'),
        (MoveApplication, b'{"type":"MoveApplication","application":1,"queue":"root.b"}'),
        (SetPriority, b'{"type":"SetPriority","application":1,"priority":2}'),
    ],
)
def test_what_was_recorded_before_actors_were_known_can_still_be_read(kind, document):
    found = msgspec.json.decode(document, type=kind)
    assert (found.user, found.groups) == ("", ())
