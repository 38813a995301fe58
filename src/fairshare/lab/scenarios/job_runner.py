"""The run of a scenario of MapReduce: each step becomes inputs of the manager, and tasks have names
(`m0`, `r3`), for which it acts as the jobs' masters.

What the cluster looks like is read from the scheduler's views: pools by their plain names, slots
alone.
"""

from functools import singledispatchmethod
from typing import Any, Final

import msgspec

from fairshare.api.queues import PoolFigures
from fairshare.core.model import inputs
from fairshare.core.model.events import (
    ApplicationRejected,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerCompleted,
    Event,
    ExitCode,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.invariants import check
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.views import ApplicationView, QueueView
from fairshare.errors import FairshareError, InputError
from fairshare.lab.scenarios import job_steps, steps
from fairshare.lab.scenarios.cluster import Cluster, add_nodes, apply_common_step, nodes_named
from fairshare.lab.scenarios.configuration import LoadedSettings, with_own_file
from fairshare.lab.scenarios.description import Description, add_reasons
from fairshare.lab.scenarios.document import Scenario
from fairshare.lab.scenarios.job_steps import JOBS
from fairshare.lab.scenarios.outcome import Comparison, Outcome
from fairshare.settings.jobs import SettingsOfJobs
from fairshare.settings.shell import FILE as OWN_FILE

DEFICITS = ("0.19", "0.20")


def describe_jobs(cluster: Cluster, names: dict[ApplicationId, str]) -> Description:
    """The whole cluster: `time` (ms), `apps`, `queues`, `nodes`, `cluster`."""
    state, types = cluster.state, cluster.state.types
    views = cluster.scheduler.queue_views(cluster.now_ms)
    root = next(view for view in views if not view.parent).pool
    assert root is not None
    description: Description = {
        "time": cluster.elapsed_ms,
        "apps": {
            name: _describe_job(cluster.scheduler.application_view(number), root)
            for number, name in names.items()
        },
        "queues": {
            JOBS.pool_of(view.name): _describe_pool(view, view.pool)
            for view in views
            if view.parent and view.pool is not None
        },
        "nodes": {
            node.name: {
                "rack": node.rack,
                "total": _slots(types.mapping(node.total)),
                "used": _slots(types.mapping(node.used)),
                "containers": len(node.containers),
            }
            for node in state.nodes.values()
        },
        "cluster": {
            "total": _slots(types.mapping(state.total)),
            "used": _slots(types.mapping(state.used)),
        },
    }
    if root.delays_ms is not None:
        description["cluster"]["node_delay"], description["cluster"]["rack_delay"] = root.delays_ms
    return description


def _slots(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in JOBS.slots}


def _pair(maps: object, reduces: object) -> dict[str, Any]:
    return dict(zip(JOBS.slots, (maps, reduces), strict=True))


def _describe_job(view: ApplicationView, root: PoolFigures) -> Description:
    job = view.job
    assert job is not None
    maps, reduces = job.maps, job.reduces
    described: Description = {
        "state": str(view.state),
        "user": view.user,
        "priority": job.priority,
        "diagnostics": view.diagnostics,
        "runnable": view.runnable,
        "used": _pair(maps.running, reduces.running),
        "fair_share": _pair(maps.fair_share, reduces.fair_share),
        "weight": _pair(maps.weight, reduces.weight),
    }
    if view.state != "REJECTED":
        described["queue"] = JOBS.pool_of(view.queue)
    if root.generation in DEFICITS:
        described["needed"] = _pair(maps.needed, reduces.needed)
        described["min_share"] = _pair(maps.min_share, reduces.min_share)
        described["deficit"] = _pair(maps.deficit, reduces.deficit)
    else:
        described["demand"] = _pair(maps.demand, reduces.demand)
        described["initialized"] = job.initialized
        described["locality"] = {
            "level": job.level,
            "waited_ms": job.waited_ms,
            "skipped": job.passed_over,
        }
    return described


def _describe_pool(view: QueueView, pool: PoolFigures) -> Description:
    maps, reduces = pool.maps, pool.reduces
    described: Description = {
        "apps": pool.jobs,
        "used": _pair(maps.running, reduces.running),
        "min_share": _pair(maps.min_share, reduces.min_share),
    }
    if pool.generation not in DEFICITS:
        described |= {
            "demand": _pair(maps.demand, reduces.demand),
            "fair_share": _pair(maps.fair_share, reduces.fair_share),
            "max_share": _pair(maps.max_share, reduces.max_share),
            "weight": view.weight,
            "policy": view.policy,
            "max_apps": view.max_running_applications,
            "to_preempt": _pair(maps.to_preempt, reduces.to_preempt),
        }
    return described


_LETTERS: Final = "mr"
_FIRST_REDUCE: Final = 1 << 19
"""The request id of the first reduce; those of the maps are their numbers."""


def task_name(request: int) -> str:
    """`task_name(0) == "m0"`; reduces have names of their own."""
    kind, number = divmod(request, _FIRST_REDUCE)
    return f"{_LETTERS[kind]}{number}"


class Tasks:
    """All tasks of all jobs. `granted` and `killed` collect since they were last taken."""

    def __init__(self, slots: tuple[Resource, Resource]) -> None:
        self._slots = slots
        self._requests: dict[ApplicationId, dict[int, ContainerRequest]] = {}
        self._running: dict[ApplicationId, dict[str, ContainerId]] = {}
        self._by_container: dict[ContainerId, int] = {}
        self._again: dict[ApplicationId, list[int]] = {}
        self.granted: list[tuple[ApplicationId, str, str]] = []
        self.killed: list[tuple[ApplicationId, str]] = []

    def requests(self, tasks: tuple[job_steps.Tasks, ...]) -> tuple[ContainerRequest, ...]:
        """One request for each task, numbered by kind through all entries."""
        counts, asks = [0, 0], []
        for entry in tasks:
            for _ in range(entry.count):
                number = entry.kind * _FIRST_REDUCE + counts[entry.kind]
                counts[entry.kind] += 1
                size = self._slots[entry.kind]
                asks.append(ContainerRequest(1, size, hosts=entry.hosts, request=number))
        return tuple(asks)

    def submitted(self, job: ApplicationId, requests: tuple[ContainerRequest, ...]) -> None:
        """Remember what a job consists of."""
        self._requests[job] = {request.request: request for request in requests}
        self._running[job] = {}

    def hear(self, events: tuple[Event, ...]) -> None:
        """Follow what starts and ends."""
        for event in events:
            if isinstance(event, ContainerAllocated):
                name = task_name(event.request)
                self._running[event.application][name] = event.container
                self._by_container[event.container] = event.request
                self.granted.append((event.application, name, event.node))
            elif isinstance(event, ContainerCompleted):
                job, request = application_of(event.container), self._by_container[event.container]
                del self._running[job][task_name(request)]
                if event.exit_code != 0:
                    self._again.setdefault(job, []).append(request)
                if event.exit_code == ExitCode.PREEMPTED:
                    self.killed.append((job, task_name(request)))

    def containers(
        self, job: ApplicationId, names: tuple[str, ...] | None
    ) -> list[tuple[str, ContainerId]]:
        """The containers of running tasks; raises InputError for one that does not run."""
        running = self._running[job]
        for name in names or ():
            if name not in running:
                known = ", ".join(running) or "none"
                raise InputError("unknown-task", f"the task {name} does not run (running: {known})")
        return [(name, running[name]) for name in (tuple(running) if names is None else names)]

    def to_repeat(self) -> list[tuple[ApplicationId, tuple[ContainerRequest, ...]]]:
        """Tasks that were killed since the last call, by job."""
        again, self._again = self._again, {}
        return [
            (job, tuple(self._requests[job][number] for number in sorted(numbers)))
            for job, numbers in sorted(again.items())
        ]


class JobRunner:
    """One scenario on a manager of its own, ready for its first step.

    Raises ConfigurationError when the configuration is refused. With `verify` the state's
    invariants are checked after each step.
    """

    def __init__(self, scenario: Scenario, *, verify: bool = False) -> None:
        self._verify = verify
        self._groups = scenario.groups
        texts = {name: text for name, text in scenario.config.items() if name != OWN_FILE}
        self._files = JOBS.files(texts, scenario.properties, scenario.job_switches, 0)
        settings = with_own_file(self._files.settings, scenario.config, scenario.family)
        self._files.settings = settings
        self._types = settings.types
        loaded = LoadedSettings(settings.types, msgspec.json.encode(settings))
        self._cluster = Cluster(scenario.family, loaded)
        self._names: dict[ApplicationId, str] = {}
        self._numbers: dict[str, ApplicationId] = {}
        one = [self._types.vector({name: 1}) for name in JOBS.slots]
        self._tasks = Tasks((one[0], one[1]))
        self._cluster.listeners.append(self._tasks.hear)
        self._comparisons: list[Comparison] = []
        for group in scenario.nodes:
            add_nodes(group, self._cluster, self._types)

    def step(self, step: steps.Step) -> Outcome:
        """Run one step; what it was refused for is in the answer."""
        error = None
        self._tasks.granted.clear()
        self._tasks.killed.clear()
        self._comparisons = []
        try:
            self._apply(step)
        except FairshareError as refusal:
            error = str(refusal)
        # Ask again for tasks that were killed, of jobs that live.
        for number, requests in self._tasks.to_repeat():
            if self._cluster.state.applications[number].attempt.registered:
                self._cluster.call(inputs.RequestContainers(number, requests))
        if self._verify:
            check(self._cluster.state)
        events = [
            *(
                {"event": "allocated", "app": self._names[job], "task": task, "node": node}
                for job, task, node in self._tasks.granted
            ),
            *(
                {"event": "killed", "app": self._names[job], "task": task}
                for job, task in self._tasks.killed
            ),
        ]
        return Outcome(events, error, tuple(self._comparisons))

    def describe(self, *, why: bool = False) -> Description:
        """The cluster as it is; with `why` also the reason for which each job waits."""
        found = describe_jobs(self._cluster, self._names)
        if why:
            add_reasons(found, self._cluster.scheduler, self._names)
        return found

    @property
    def type_names(self) -> tuple[str, ...]:
        """The names of the types that a scenario speaks of."""
        return JOBS.slots

    def _number(self, name: str) -> ApplicationId:
        if name not in self._numbers:
            raise InputError("unknown-application", f"no job {name}")
        return self._numbers[name]

    @singledispatchmethod
    def _apply(self, step: steps.Step) -> None:
        apply_common_step(step, self._cluster, self._types)

    # Jobs.

    @_apply.register
    def _submit(self, step: job_steps.SubmitJob) -> None:
        if step.app in self._numbers:
            raise InputError("repeated-name", f"job {step.app} was submitted before")
        self._look_at_file(by_update=True)
        settings = self._files.settings
        properties = dict(step.properties)
        if step.queue is not None:
            properties[JOBS.property_of_pool(settings)] = step.queue
        requests = self._tasks.requests(step.tasks)
        submission = inputs.SubmitApplication(
            user=step.user,
            name=step.app,
            groups=self._groups.get(step.user, ()),
            priority=step.priority,
            requests=requests,
            properties=properties,
            prepared=step.state == "RUNNING",
        )
        for event in self._cluster.feed(submission):
            if isinstance(event, ApplicationSubmitted | ApplicationRejected):
                self._names[event.application] = step.app
                self._numbers[step.app] = event.application
                self._tasks.submitted(event.application, requests)
            if isinstance(event, ApplicationRejected):
                raise InputError(event.code, event.reason)
        if step.state not in ("RUNNING", "PREP"):
            self._change_state(self._number(step.app), step.state)
            self._cluster.call(inputs.UpdateShares())

    @_apply.register
    def _set_state(self, step: job_steps.SetState) -> None:
        self._change_state(self._number(step.app), step.state)

    def _change_state(self, number: ApplicationId, state: str) -> None:
        job = self._cluster.state.applications[number]
        if state in ("SUCCEEDED", "FAILED"):
            self._cluster.call(inputs.FinishApplication(number, state == "SUCCEEDED"))
        elif state == "KILLED":
            self._cluster.call(inputs.KillApplication(number))
        elif state == "RUNNING" and not job.attempt.registered:
            self._cluster.call(inputs.MasterRegistered(number))
        elif state == "PREP" and job.attempt.registered:
            raise InputError("already-running", "a job that runs is not prepared once more")

    @_apply.register
    def _finish(self, step: job_steps.FinishJob) -> None:
        number = self._number(step.app)
        if step.tasks is None:
            self._cluster.call(inputs.FinishApplication(number))
            return
        names = None if step.tasks == "all" else step.tasks
        for _, container in self._tasks.containers(number, names):
            self._cluster.call(inputs.ContainerExited(container, 0))

    @_apply.register
    def _kill(self, step: steps.Kill) -> None:
        self._cluster.call(inputs.KillApplication(self._number(step.app)))

    @_apply.register
    def _move(self, step: steps.Move) -> None:
        self._cluster.call(inputs.MoveApplication(self._number(step.app), step.queue))

    @_apply.register
    def _set_priority(self, step: job_steps.SetJobPriority) -> None:
        self._cluster.call(inputs.SetPriority(self._number(step.app), step.priority))

    # Nodes.

    @_apply.register
    def _heartbeat(self, step: job_steps.JobHeartbeat) -> None:
        for _ in range(step.times):
            for node in nodes_named(step.nodes, self._cluster):
                self._beat(node, step.assigned)

    def _beat(self, node: str, expected: tuple[str, ...] | None) -> None:
        self._look_at_file(by_update=False)
        before = len(self._tasks.granted)
        self._cluster.call(inputs.NodeBeat(node))
        if expected is None:
            return
        granted = [f"{self._names[job]}/{task}" for job, task, _ in self._tasks.granted[before:]]
        as_expected = len(granted) == len(expected) and all(
            name in (task, task.rstrip("0123456789"))
            for name, task in zip(expected, granted, strict=True)
        )
        self._comparisons.append(Comparison("assigned", list(expected), granted, as_expected))

    # Configuration, time and passes.

    def _load(self, settings: SettingsOfJobs) -> None:
        self._cluster.call(inputs.LoadConfiguration(msgspec.json.encode(settings)))

    def _look_at_file(self, *, by_update: bool) -> None:
        """The old releases look at the file on heartbeats, 1.2 in its updates."""
        if by_update != self._files.settings.deficits:
            settings = self._files.look(self._cluster.elapsed_ms)
            if settings is not None:
                self._load(settings)

    @_apply.register
    def _reload(self, step: steps.Reload) -> None:
        if step.properties:
            raise InputError("not-reloadable", "properties need a restart of the job tracker")
        self._files.write(step.files, self._cluster.elapsed_ms)
        self._load(self._files.read(self._cluster.elapsed_ms))

    @_apply.register
    def _write(self, step: steps.Write) -> None:
        self._files.write(step.files, self._cluster.elapsed_ms)

    @_apply.register
    def _set_fifo(self, step: job_steps.SetFifo) -> None:
        settings = msgspec.structs.replace(self._files.settings, fifo=step.on)
        self._files.settings = settings
        self._load(settings)

    @_apply.register
    def _update(self, step: steps.Update) -> None:
        for _ in range(step.passes):
            self._look_at_file(by_update=True)
            self._cluster.call(inputs.UpdateShares())

    @_apply.register
    def _preempt(self, step: job_steps.CheckPreemption) -> None:
        for _ in range(step.passes):
            self._cluster.call(inputs.PreemptContainers())
        if step.killed is None:
            return
        killed = sorted(f"{self._names[job]}/{task}" for job, task in self._tasks.killed)
        if isinstance(step.killed, int):
            same = len(killed) == step.killed
            self._comparisons.append(Comparison("killed", step.killed, len(killed), same))
        else:
            expected = sorted(step.killed)
            self._comparisons.append(Comparison("killed", expected, killed, expected == killed))

    @_apply.register
    def _advance(self, step: steps.Advance) -> None:
        self._cluster.now_ms += step.duration_ms

    @_apply.register
    def _expect(self, step: steps.Expect) -> None:
        """Looking changes nothing."""
