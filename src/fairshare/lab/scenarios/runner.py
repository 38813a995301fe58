"""The run of a scenario: each step becomes inputs of the manager, and the masters beat after every
event.

In the step `run` time passes by itself. At one instant containers end first (by application, the
oldest first), then the killing that is due, then the update pass, then the pass of the monitors,
then the heartbeats in the order of the nodes. Each repeats from the step's start on; the step's end
is included.
"""

from collections.abc import Callable
from functools import singledispatchmethod
from typing import NamedTuple

from fairshare.core.manager.resource_manager import UNPLACEABLE
from fairshare.core.model import inputs
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerCompleted,
    ContainerMarked,
    Event,
    RequestRefused,
)
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    ContainerExited,
    NodeBeat,
    PreemptContainers,
    TidyQueues,
    UpdateShares,
)
from fairshare.core.model.invariants import check
from fairshare.core.placement.rules import tagged_user
from fairshare.errors import ConfigurationError, FairshareError, InputError
from fairshare.lab.scenarios import steps
from fairshare.lab.scenarios.cluster import (
    Applications,
    Cluster,
    add_nodes,
    apply_common_step,
    nodes_named,
    requests,
    vector,
)
from fairshare.lab.scenarios.configuration import ConfigurationFiles
from fairshare.lab.scenarios.description import Description, add_reasons, describe
from fairshare.lab.scenarios.document import Scenario
from fairshare.lab.scenarios.masters import Ages, Masters, refusals
from fairshare.lab.scenarios.outcome import Outcome, Recorder

NEVER_MS = 2**63


class Kills:
    """When containers that were chosen for preemption are due."""

    def __init__(self, cluster: Cluster) -> None:
        self._due_ms: dict[ContainerId, int] = {}
        cluster.listeners.append(self._hear)

    def _hear(self, events: tuple[Event, ...]) -> None:
        for event in events:
            if isinstance(event, ContainerMarked):
                self._due_ms[event.container] = event.kill_at_ms
            elif isinstance(event, ContainerCompleted):
                self._due_ms.pop(event.container, None)

    def next_ms(self) -> int:
        """The next instant at which one is due."""
        return min(self._due_ms.values(), default=NEVER_MS)

    def asked(self, now_ms: int) -> None:
        """The manager was asked to kill what is due; it is not asked twice."""
        self._due_ms = {c: at_ms for c, at_ms in self._due_ms.items() if at_ms > now_ms}


class Intervals(NamedTuple):
    """How often what repeats comes, 0: never. `preemption_ms` None: there are no monitors, and what
    was marked is killed when that is due."""

    update_ms: int
    preemption_ms: int | None


class Every:
    """Something that repeats; an interval of 0 never comes."""

    def __init__(self, start_ms: int, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self.at_ms = start_ms + interval_ms if interval_ms > 0 else NEVER_MS

    def comes(self, now_ms: int) -> bool:
        """Whether it is time; then the next one is an interval away."""
        if self.at_ms != now_ms:
            return False
        self.at_ms += self._interval_ms
        return True


class Passage:
    """Lets time pass. `settle` is what follows every event."""

    def __init__(
        self, cluster: Cluster, masters: Masters, kills: Kills, settle: Callable[[], None]
    ) -> None:
        self._cluster = cluster
        self._masters = masters
        self._kills = kills
        self._settle = settle

    def run(self, duration_ms: int, heartbeat_ms: int, intervals: Intervals) -> None:
        """Until `duration_ms` from now, with heartbeats and passes at these intervals."""
        cluster = self._cluster
        end_ms = cluster.now_ms + duration_ms
        heartbeats = Every(cluster.now_ms, heartbeat_ms)
        updates = Every(cluster.now_ms, intervals.update_ms)
        passes = Every(cluster.now_ms, intervals.preemption_ms or 0)
        monitored = intervals.preemption_ms is not None
        while True:
            ends_ms = min(self._masters.ends_ms.values(), default=NEVER_MS)
            kills_ms = NEVER_MS if monitored else self._kills.next_ms()
            next_ms = min(heartbeats.at_ms, updates.at_ms, passes.at_ms, kills_ms, ends_ms)
            if next_ms > end_ms:
                cluster.now_ms = end_ms
                return
            cluster.now_ms = max(cluster.now_ms, next_ms)
            self._end_containers()
            if not monitored:
                cluster.call(PreemptContainers())
                self._kills.asked(cluster.now_ms)
            self._settle()
            if updates.comes(cluster.now_ms):
                cluster.call(UpdateShares())
                self._settle()
            if passes.comes(cluster.now_ms):
                cluster.call(PreemptContainers())
                self._settle()
                if monitored:  # the monitors of queues made on demand come in the same rounds
                    for more in (UpdateShares(), TidyQueues()):
                        cluster.call(more)
                        self._settle()
            if heartbeats.comes(cluster.now_ms):
                for node in tuple(cluster.state.nodes):
                    cluster.call(NodeBeat(node))
                    self._settle()

    def _end_containers(self) -> None:
        ends_ms = self._masters.ends_ms
        now_ms = self._cluster.now_ms
        for container in sorted(c for c, at_ms in ends_ms.items() if at_ms <= now_ms):
            ends_ms.pop(container, None)
            self._cluster.call(ContainerExited(container, 0))


class Runner:
    """One scenario on a manager of its own, ready for its first step.

    Raises ConfigurationError when the configuration is refused. With `verify` the state's
    invariants are checked after each step.
    """

    def __init__(self, scenario: Scenario, *, verify: bool = False) -> None:
        self._groups = scenario.groups
        self._verify = verify
        family = scenario.family
        self._files = ConfigurationFiles(scenario.config, scenario.properties, family)
        loaded = self._files.read()
        self._intervals = Intervals(loaded.update_interval_ms, loaded.preemption_interval_ms)
        self._cluster = Cluster(family, loaded)
        self._types = loaded.types
        self._applications = Applications(self._cluster.state)
        self._masters = Masters(self._cluster)
        self._recorder = Recorder(self._cluster, self._applications)
        self._ages = Ages(self._cluster)
        self._kills = Kills(self._cluster)
        for group in scenario.nodes:
            add_nodes(group, self._cluster, self._types)
        self._settle()
        self._recorder.take()

    def step(self, step: steps.Step) -> Outcome:
        """Run one step; what it was refused for is in the answer."""
        error = None
        try:
            self._apply(step)
        except FairshareError as refusal:
            error = str(refusal)
        self._settle()
        if self._verify:
            check(self._cluster.state)
        return Outcome(self._recorder.take(), error)

    def describe(self, *, why: bool = False) -> Description:
        """The cluster as it is; with `why` also the reason for which each application waits."""
        found = describe(self._cluster, self._applications)
        if why:
            add_reasons(found, self._cluster.scheduler, self._applications.names)
        return found

    @property
    def type_names(self) -> tuple[str, ...]:
        """The names of the cluster's resource types."""
        return self._types.names

    def _settle(self) -> None:
        """The masters beat, and what has happened is recorded."""
        for application, reason in self._masters.beat():
            self._recorder.refused(application, reason)
        self._recorder.look()

    def _call(self, input_: inputs.Input) -> None:
        self._cluster.call(input_)
        self._settle()

    @singledispatchmethod
    def _apply(self, step: steps.Step) -> None:
        apply_common_step(step, self._cluster, self._types)

    # Applications.

    @_apply.register
    def _submit(self, step: steps.Submit) -> None:
        if step.app in self._applications:
            raise InputError("repeated-name", f"application {step.app} was submitted before")
        submission = inputs.SubmitApplication(
            user=step.user,
            queue=step.queue,
            name=step.name or step.app,
            groups=self._groups.get(step.user, ()),
            priority=step.priority,
            tags=step.tags,
            master=None if step.master is None else vector(self._types, step.master),
            requests=requests(self._types, step.asks),
            recovering=step.recovering,
            label=step.label,
            master_label=step.master_label,
            tagged_groups=self._groups.get(tagged_user(step.tags) or "", ()),
        )
        events = self._cluster.feed(submission)
        for event in events:
            if isinstance(event, ApplicationSubmitted | ApplicationRejected):
                self._applications.add(step.app, event.application)
                self._masters.submitted(event.application, step.asks)
        for event in events:
            if isinstance(event, RequestRefused) and event.code == UNPLACEABLE:
                raise InputError(event.code, event.reason)
        # Asks that are refused when they become live do not refuse the application.
        for application, reason in refusals(events):
            self._recorder.refused(application, reason)
        for event in events:
            if isinstance(event, ApplicationRejected):
                raise InputError(event.code, event.reason)

    @_apply.register
    def _ask(self, step: steps.AskMore) -> None:
        application = self._applications.get(step.app)
        if application.attempt.registered:  # a master that does not run has nothing to remember
            self._masters.asked(application.id, step.asks)
        self._cluster.call(
            inputs.RequestContainers(application.id, requests(self._types, step.asks))
        )

    @_apply.register
    def _finish(self, step: steps.Finish) -> None:
        if step.containers is not None:
            for container in self._oldest(step.app, step.containers, step.on):
                self._cluster.call(inputs.ContainerExited(container, 0))
            return
        application = self._applications.get(step.app)
        if application.over or application.attempt.registered:
            self._cluster.call(inputs.FinishApplication(application.id))
        else:  # its master never ran, so it can only be withdrawn
            self._cluster.call(inputs.KillApplication(application.id))
            self._applications.withdrawn.add(application.id)

    @_apply.register
    def _kill(self, step: steps.Kill) -> None:
        application = self._applications.get(step.app)
        if not application.over:  # killing an ended application is not a mistake
            self._cluster.call(inputs.KillApplication(application.id))

    @_apply.register
    def _move(self, step: steps.Move) -> None:
        number = self._applications.number(step.app)
        self._cluster.call(inputs.MoveApplication(number, step.queue))

    @_apply.register
    def _set_priority(self, step: steps.SetPriority) -> None:
        number = self._applications.number(step.app)
        self._cluster.call(inputs.SetPriority(number, step.priority))

    @_apply.register
    def _blacklist(self, step: steps.Blacklist) -> None:
        number = self._applications.number(step.app)
        self._cluster.call(inputs.ChangeBlacklist(number, step.add, step.remove))

    @_apply.register
    def _release(self, step: steps.Release) -> None:
        application = self._applications.get(step.app)
        oldest = self._oldest(step.app, step.containers, None)
        self._cluster.call(inputs.ReleaseContainers(application.id, oldest))

    def _oldest(self, name: str, count: int, node: str | None) -> tuple[ContainerId, ...]:
        """The oldest containers of an application, without its master's."""
        application: Application = self._applications.get(name)
        containers = [
            container
            for container in self._ages.by_age(application.containers)
            if container != application.attempt.master
            and node in (None, application.containers[container].node)
        ]
        return tuple(containers[:count])

    # Nodes.

    @_apply.register
    def _heartbeat(self, step: steps.Heartbeat) -> None:
        for _ in range(step.times):
            for node in nodes_named(step.nodes, self._cluster):
                self._call(inputs.NodeBeat(node))

    @_apply.register
    def _labels(self, step: steps.ChangeLabels) -> None:
        if step.add:
            self._cluster.call(inputs.AddLabels(step.add))
        if step.remove:
            self._cluster.call(inputs.RemoveLabels(step.remove))
        if step.nodes:
            self._cluster.call(inputs.LabelNodes(step.nodes))

    # Configuration.

    @_apply.register
    def _reload(self, step: steps.Reload) -> None:
        if self._files.on_command:
            with self._files.unless_refused():
                self._files.write(step.files, self._cluster.now_ms)
                self._files.change_properties(step.properties)
                try:
                    self._read_files()
                except ConfigurationError:
                    self._cluster.call(inputs.ReloadRefused())
                    raise
            return
        self._files.change_properties(step.properties)
        if step.files:
            self._files.write(step.files, self._cluster.now_ms)
            self._read_files()
            return
        self._cluster.call(inputs.TidyQueues())
        if self._files.is_due(self._cluster.now_ms):
            self._read_files()

    @_apply.register
    def _write(self, step: steps.Write) -> None:
        self._files.write(step.files, self._cluster.now_ms)

    def _read_files(self) -> None:
        """Read the files again; when they are refused the old settings stay in force."""
        loaded = self._files.read()
        self._cluster.call(inputs.LoadConfiguration(loaded.encoded))
        self._intervals = Intervals(loaded.update_interval_ms, loaded.preemption_interval_ms)

    # Time and passes.

    @_apply.register
    def _update(self, step: steps.Update) -> None:
        if self._intervals.preemption_ms is not None:
            return  # its monitors alone do anything in the background
        for _ in range(step.passes):
            # What is due is killed first; a master lost by that asks again within the pass.
            self._cluster.call(inputs.PreemptContainers())
            self._call(inputs.UpdateShares())

    @_apply.register
    def _preempt(self, step: steps.Preempt) -> None:
        for _ in range(step.passes):
            self._call(inputs.PreemptContainers())
            if self._intervals.preemption_ms is not None:  # the monitors of queues made on demand
                self._call(inputs.UpdateShares())
                self._call(inputs.TidyQueues())

    @_apply.register
    def _advance(self, step: steps.Advance) -> None:
        self._cluster.now_ms += step.duration_ms

    @_apply.register
    def _run(self, step: steps.Run) -> None:
        passage = Passage(self._cluster, self._masters, self._kills, self._settle)
        passage.run(step.duration_ms, step.heartbeat_ms, self._intervals)

    @_apply.register
    def _expect(self, step: steps.Expect) -> None:
        """Looking changes nothing."""
