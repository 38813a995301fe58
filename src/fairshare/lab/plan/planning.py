"""The answer to "what would this configuration have done": a history, simulated twice.

First with the settings that were in force, which is the proof that the simulation can be believed,
then with the new ones.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import LoadConfiguration, MoveApplication, SubmitApplication
from fairshare.documents.ready import ready
from fairshare.lab.branch.branch import Branch, Edit
from fairshare.lab.branch.edits import with_moved_arrivals
from fairshare.lab.plan.outcomes import Competed, Competition, Outcomes, Sums, received, sums
from fairshare.lab.simulate.collection import Collection
from fairshare.lab.simulate.repetition import Estimate, estimate
from fairshare.lab.simulate.rerun import Pause, restated
from fairshare.lab.simulate.world import Entry, World
from fairshare.runtime.observers import Observers
from fairshare.runtime.runtime import Observer
from fairshare.settings.configuration import Configuration
from fairshare.settings.registry import family_of

NEAR_MS: Final = 10
"""Grants of a simulation count as reproduced up to this distance: a server's timers are late."""

MOST_TRIES: Final = 12
"""So often the history is simulated at most to find out how late its servers were; and as often
with the start of the first one."""

ALL: Final = "all"

DEFAULT_HEARTBEAT_MS: Final = 1_000

HEARTBEATS: Final = "heartbeat_interval_ms"
"""The name of the interval of beats in the settings of the schedulers that have it."""


class Watch(Protocol):
    """What sees how far a plan is."""

    def simulates_again(self, subject: str, times_ms: list[int], begin_ms: int) -> None:
        """A simulation begins, with submissions at these instants."""

    def __call__(self, now_ms: int) -> object:
        """It is at this instant."""


class Proof(msgspec.Struct, frozen=True):
    """How many of the grants in history the simulation made again: the same container on the same
    node, within NEAR_MS; and the largest distance of these."""

    grants: int
    reproduced: int
    largest_ms: int


class Change(msgspec.Struct, frozen=True):
    """A setting before and after; None: it is not there."""

    setting: str
    before: Any
    after: Any


class Difference(msgspec.Struct, frozen=True):
    """The sums of a queue or user before and after; None: it does not exist."""

    name: str
    before: Sums | None
    after: Sums | None


class Moved(msgspec.Struct, frozen=True):
    """One application whose turnaround changes."""

    number: int
    name: str
    user: str
    queue: str
    before_ms: int
    after_ms: int

    @property
    def change_ms(self) -> int:
        """How much longer it takes; negative: shorter."""
        return self.after_ms - self.before_ms


class Drawn(msgspec.Struct, frozen=True):
    """The change of a number of a queue, or of all, in several draws of the history: its mean and
    the interval in which the true mean is with a confidence of 95 %."""

    name: str
    metric: str
    change: Estimate

    @property
    def certain(self) -> bool:
        """Whether the change is not due to chance, as far as the draws show."""
        return self.change.low > 0 or self.change.high < 0


DRAWN: Final = ("wait_p95", "turnaround_mean")
"""The metrics of which draws are summed up."""


class Reached(msgspec.Struct, frozen=True):
    """The smallest change of one kind that meets a goal, in words; or, if none does, the largest
    that was tried; and the metric of the goal with it."""

    change: str
    value: float | None
    meets: bool
    tried: int


class Refused(msgspec.Struct, frozen=True):
    """How many applications of a queue the new settings refuse for one reason, of those that the
    old ones took."""

    queue: str
    reason: str
    applications: int


class Proposal(msgspec.Struct, frozen=True):
    """Settings to try, of a scheduler whose resource types are those of the history. Queues that
    have other names there are in `names`, by their names in the history."""

    scheduler: str
    settings: Any
    heartbeat_interval_ms: int = DEFAULT_HEARTBEAT_MS
    names: dict[str, str] = {}


class Plan(msgspec.Struct, frozen=True):
    """The whole answer. The history is from `begin_ms` to `end_ms`. `refused` is what only the new
    settings refuse, most first. `moved` are the applications, the largest loss first; `begun`
    counts the containers that ran when the history begins, and `left_out` the applications of
    masters that lived then, which another scheduler cannot take up.
    `competed` says of each run what waited for room. `recorded_heartbeat_interval_ms` is None if
    the history does not say it: then it is simulated with that of the configuration. `edits` says
    what else was changed, the nodes or the load, and `ignored` has the settings of machines that
    were not followed. `trace` is what the reader of a trace left out or
    assumed; None: the history is a server's."""

    proof: Proof
    scheduler_before: str
    scheduler_after: str
    changes: tuple[Change, ...]
    span_ms: int
    begin_ms: int
    end_ms: int
    applications: int
    censored: int
    drivers: int
    nodes: int
    begun: int
    left_out: int
    competed: tuple[Competed, Competed]
    refused: tuple[Refused, ...]
    whole: Difference
    queues: tuple[Difference, ...]
    users: tuple[Difference, ...]
    moved: tuple[Moved, ...]
    recorded_heartbeat_interval_ms: int | None = None
    edits: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    trace: tuple[str, ...] | None = None
    draws: tuple[Drawn, ...] = ()
    goal: tuple[Reached, ...] = ()

    def _repr_html_(self) -> str:
        from fairshare.lab.notebook import plan_html  # terminals are not known here

        return plan_html(self)


def plan(
    world: World,
    configuration: Configuration | Proposal | None,
    unused_expiry_ms: int | None = None,
    recorded_beat_ms: int | None = None,
    watch: Watch | None = None,
    edits: tuple[Edit, ...] = (),
    seeds: int = 0,
) -> Plan:
    """Simulate a world with its own settings and with those of a configuration, whose resource
    types are those of the world; None: with its own, whatever these were at each time. The second
    simulation is of the world with `edits`; raises their ValueError. For `seeds` other draws of the
    history both are simulated, too. `recorded_beat_ms` is the interval of beats in the history;
    None: that of its settings, and of the configuration if they have none, as those of FIFO and
    pools. `watch` sees how far it is."""
    known_ms = recorded_beat_ms or recorded_settings(world).get(HEARTBEATS)
    changed = changed_world(world, configuration, known_ms, unused_expiry_ms, edits)
    beat_ms = known_ms or changed.proposal.heartbeat_interval_ms
    _, words = Branch(world, edits).edited()  # what is wrong with them is said first
    before = reproduced(world, beat_ms, unused_expiry_ms, watch)
    trees = recorded_settings(world), msgspec.json.decode(changed.settings)
    left_out = changed.branch(world)[1]
    if changed.unchanged and not edits and changed.proposal.heartbeat_interval_ms == beat_ms:
        after = before  # another run could only be less like the history than the best of several
    else:
        after = changed.run(world, watch, as_recorded=not edits)
    draws: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed in range(1, seeds + 1):
        drawn = with_moved_arrivals(world, seed).world
        base = Branch(drawn, beat_ms=beat_ms, unused_expiry_ms=unused_expiry_ms)
        subject = f"draw {seed} of {seeds}"
        old = _Simulation(base, watch=watch, subject=subject, as_recorded=False).run()
        new = changed.run(drawn, watch, f"{subject}, changed")
        for kind, difference in _changes_of(old, new):
            draws[kind].append(difference)
    proof = proof_of(world, before)
    for number in left_out:
        before.applications.pop(number, None)
    refused = {
        number: outcome
        for run in (before, after)
        for number, outcome in run.applications.items()
        if outcome.refused
    }
    taken = {number for number, one in before.applications.items() if not one.refused}
    newly = [one for number, one in refused.items() if number in taken]
    for outcome in newly:  # its queue is that which took it, and not the name that was submitted
        outcome.queue = before.applications[outcome.number].queue
    return Plan(
        proof=proof,
        scheduler_before=world.scheduler,
        scheduler_after=changed.proposal.scheduler,
        changes=tuple(changes(*trees)),
        span_ms=world.end_ms - world.begin_ms,
        begin_ms=world.begin_ms,
        end_ms=world.end_ms,
        applications=len(before.applications),
        censored=world.censored,
        drivers=world.drivers,
        nodes=world.nodes,
        begun=len(world.begun),
        left_out=len(left_out),
        competed=(before.competed, after.competed),
        recorded_heartbeat_interval_ms=known_ms,
        refused=tuple(
            Refused(*kind, count)
            for kind, count in Counter((one.queue, one.reason) for one in newly).most_common()
        ),
        whole=Difference(ALL, _whole(before, refused), _whole(after, refused)),
        queues=_differences(_queues(before, refused), _queues(after, refused)),
        users=_differences(
            before.by(lambda one: one.user, refused), after.by(lambda one: one.user, refused)
        ),
        moved=tuple(_moved(before, after)),
        edits=words,
        draws=tuple(Drawn(*kind, estimate(values)) for kind, values in draws.items()),
    )


class Changed(msgspec.Struct, frozen=True):
    """A change of a history: settings, encoded, and edits. `unchanged`: the settings were in force
    for the whole history."""

    proposal: Configuration | Proposal
    settings: bytes
    unchanged: bool
    edits: tuple[Edit, ...]
    unused_expiry_ms: int | None

    def branch(self, base: World) -> tuple[Branch, frozenset[ApplicationId]]:
        """The branch of a history with the change, and the applications that are left out of it.
        Raises ValueError for what is wrong with the edits."""
        asked, _ = Branch(base, self.edits).edited()
        left_out = frozenset[ApplicationId]()
        if base.origin is not None and self.proposal.scheduler != base.scheduler:
            asked, left_out = restated(asked, self.settings)
        if isinstance(self.proposal, Proposal) and self.proposal.names:
            # The history with queues under other names.
            entries = tuple(_with_names(entry, self.proposal.names) for entry in asked.entries)
            asked = msgspec.structs.replace(asked, entries=entries)
        branch = Branch(
            asked,
            scheduler=self.proposal.scheduler,
            settings=None if self.unchanged else self.settings,
            beat_ms=self.proposal.heartbeat_interval_ms,
            unused_expiry_ms=self.unused_expiry_ms,
        )
        return branch, left_out

    def run(
        self,
        base: World,
        watch: Watch | None = None,
        subject: str = "the change",
        *,
        as_recorded: bool = False,
    ) -> Outcomes:
        """The outcomes of a history with the change."""
        branch, _ = self.branch(base)
        simulation = _Simulation(
            branch,
            paced=base.pace is not None,
            watch=watch,
            subject=subject,
            as_recorded=as_recorded,
        )
        if base.origin is not None and branch.world.origin is None:
            simulation.outcomes.restate(base.origin.manager().state)
        return simulation.run()


def changed_world(
    world: World,
    configuration: Configuration | Proposal | None,
    known_beat_ms: int | None = None,
    unused_expiry_ms: int | None = None,
    edits: tuple[Edit, ...] = (),
) -> Changed:
    """The change to a configuration (None: the history's own settings), and by edits."""
    recorded = recorded_settings(world)
    if configuration is None:
        beat_ms = known_beat_ms or DEFAULT_HEARTBEAT_MS
        configuration, unchanged = Proposal(world.scheduler, recorded, beat_ms), True
    else:
        encoded = msgspec.json.decode(msgspec.json.encode(configuration.settings))
        in_force = (recorded, *_loaded(world))
        unchanged = configuration.scheduler == world.scheduler and all(
            tree == encoded for tree in in_force
        )
    settings = msgspec.json.encode(configuration.settings)
    return Changed(configuration, settings, unchanged, edits, unused_expiry_ms)


def sums_of(run: Outcomes, name: str) -> Sums | None:
    """The sums of a queue, with or without `root.` before it, of a user, or of all (ALL)."""
    if name == ALL:
        return _whole(run, ())
    queues = _queues(run, ())
    for known in (name, f"root.{name}"):
        if known in queues:
            return queues[known]
    return run.by(lambda one: one.user).get(name)


def _changes_of(old: Outcomes, new: Outcomes) -> Iterator[tuple[tuple[str, str], float]]:
    """Of all, and of each queue that both have, the changes of the metrics that both have."""
    refused = {
        number
        for run in (old, new)
        for number, outcome in run.applications.items()
        if outcome.refused
    }
    both = [
        {ALL: _whole(run, refused), **run.by(lambda one: one.queue, refused)} for run in (old, new)
    ]
    for name in both[0].keys() & both[1].keys():
        for metric in DRAWN:
            values = [getattr(one[name], metric) for one in both]
            if None not in values:
                yield (name, metric), values[1] - values[0]


def recorded_settings(world: World) -> Any:
    """The settings with which the history begins, as a tree."""
    if world.origin is not None:
        state: Any = world.origin.manager().state  # each scheduler's has its settings
        return _tree(msgspec.json.encode(state.settings), world.scheduler)
    first = next(_loaded(world), None)
    return _tree(b"{}", world.scheduler) if first is None else first


def _loaded(world: World) -> Iterator[Any]:
    """The settings that were loaded in the history, as trees."""
    for entry in world.entries:
        if type(entry.input) is LoadConfiguration:
            yield _tree(entry.input.settings, world.scheduler)


def _tree(settings: bytes, scheduler: str) -> Any:
    """Recorded settings, with the defaults of those that their release did not have yet."""
    known = msgspec.json.decode(settings, type=ready(family_of(scheduler).settings_type))
    return msgspec.json.decode(msgspec.json.encode(known))


def reproduced(
    world: World, beat_ms: int, unused_expiry_ms: int | None, watch: Watch | None = None
) -> Outcomes:
    """The run with the settings of the history that agrees with it best.

    First at the pace of the servers, if their records say it, which is exact. If they do not, as
    those of older releases: first as on a machine that is never busy; then with timers as late as
    they were; then with the starts of servers found, before which nothing was granted: the first
    grants that come too early. Then the same once more as if nothing was decided before the runtime
    first did something by itself: a server that takes stock looks at its nodes for the first time
    after that. Each try ends where the history does; the best one goes on to the end of its work.
    """
    branch = Branch(world, beat_ms=beat_ms, unused_expiry_ms=unused_expiry_ms)
    until_ms = world.end_ms + NEAR_MS  # later grants are not compared: a try goes no further
    best, most = None, 0
    for paced in (True, False) if world.pace is not None else (False,):
        simulation = _Simulation(branch, paced=paced, watch=watch)
        simulation.run(until_ms)
        count = proof_of(world, simulation.outcomes).reproduced
        if best is None or count > most:
            best, most = simulation, count
        if most == len(world.grants):
            return best.run()
    assert best is not None
    for start in dict.fromkeys(((), _start(world))):
        pauses = list(start)
        for _ in range(MOST_TRIES):
            if most == len(world.grants):
                return best.run()
            again = _Simulation(branch, late=True, pauses=pauses, watch=watch)
            run = again.run(until_ms)
            count = proof_of(world, run).reproduced
            if count > most:
                best, most = again, count
            early = _first_early(world, run)
            if early is None or early in pauses:
                break
            pauses.append(early)
    return best.run()


def _start(world: World) -> tuple[Pause, ...]:
    """The start of the first server, in which it took stock, if that took a while."""
    decided_ms = world.decided_ms
    if world.origin is not None or decided_ms is None or decided_ms <= world.begin_ms:
        return ()
    return (Pause(world.begin_ms, decided_ms),)


def _first_early(world: World, run: Outcomes) -> Pause | None:
    """The pause that keeps back the first grant which comes too early: on another node, by more
    than NEAR_MS, or not at all in the history. What was granted before at that instant stays; and
    the pause ends when the server next decided anything by itself, or granted it."""
    recorded = {grant.container: grant for grant in world.grants}
    timers = world.timers
    made: Counter[int] = Counter()
    for grant in run.grants:
        recorded_grant = recorded.get(grant.container)
        known_ms = world.end_ms if recorded_grant is None else recorded_grant.at_ms
        early_ms = known_ms - grant.at_ms
        if early_ms < -NEAR_MS:
            return None
        if early_ms > NEAR_MS or (
            early_ms > 0 and recorded_grant is not None and recorded_grant.node != grant.node
        ):
            at = bisect_right(timers, grant.at_ms)
            until_ms = min(known_ms, timers[at]) if at < len(timers) else known_ms
            return Pause(grant.at_ms, until_ms, made[grant.at_ms])
        made[grant.at_ms] += 1
    return None


def proof_of(world: World, run: Outcomes) -> Proof:
    """How well a simulation with the settings of the history agrees with it."""
    made = {grant.container: grant for grant in run.grants}
    distances = []
    for grant in world.grants:
        again = made.get(grant.container)
        if again is not None and again.node == grant.node:
            distance_ms = abs(again.at_ms - grant.at_ms)
            if distance_ms <= NEAR_MS:
                distances.append(distance_ms)
    return Proof(len(world.grants), len(distances), max(distances, default=0))


def changes(before: object, after: object, path: str = "") -> list[Change]:
    """The differences of two trees of settings, by path.

    >>> changes({"weight": 1, "x": {"y": 2}}, {"weight": 3, "x": {"y": 2}})
    [Change(setting='weight', before=1, after=3)]
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        changed = []
        for key in dict.fromkeys((*before, *after)):
            place = f"{path}.{key}" if path else str(key)
            changed += changes(before.get(key), after.get(key), place)
        return changed
    return [] if before == after else [Change(path, before, after)]


class _Simulation:
    """A run of a branch with the outcomes of a plan, which can be left at an instant and
    continued."""

    def __init__(
        self,
        branch: Branch,
        *,
        late: bool = False,
        pauses: Sequence[Pause] = (),
        paced: bool = False,
        watch: Watch | None = None,
        subject: str = "the settings in force",
        as_recorded: bool = True,
    ) -> None:
        self._watch = watch
        self._begin_ms = branch.world.begin_ms
        if watch is not None:
            entries = branch.world.entries
            arrivals = (one for one in entries if type(one.input) is SubmitApplication)
            watch.simulates_again(subject, [one.at_ms for one in arrivals], self._begin_ms)
        self.outcomes = Outcomes()
        begun = branch.world.origin is not None

        def observed(manager: ResourceManager) -> Sequence[Observer]:
            if begun:
                self.outcomes.begin(manager.state, self._begin_ms)
            self._state = manager.state
            self._competition = Competition(manager.state)
            self._collection = Collection(manager.scheduler, self._begin_ms)
            table = Observers()
            self._collection.subscribe(table)
            return (
                self.outcomes.observe,
                self._competition.observe,
                lambda record: table.observe((record,)),
            )

        self._rerun = branch.begin(
            observed,
            self._advance,
            late=late,
            pauses=pauses,
            paced=paced,
            as_recorded=as_recorded,
        )

    def _advance(self, now_ms: int) -> None:
        self._collection.advance(now_ms)
        if self._watch is not None:
            self._watch(now_ms)

    def run(self, until_ms: int | None = None) -> Outcomes:
        """Go on to the end, or up to and with an instant."""
        self._rerun.run(until_ms)
        self.outcomes.competed = self._competition.found(self._rerun.now_ms)
        if until_ms is None:
            intervals = self._collection.intervals(self._rerun.now_ms)
            self.outcomes.received = received(intervals, self._state.none)
        return self.outcomes


def _with_names(entry: Entry, names: Mapping[str, str]) -> Entry:
    recorded = entry.input
    if type(recorded) is not SubmitApplication and type(recorded) is not MoveApplication:
        return entry
    queue = names.get(recorded.queue, recorded.queue)
    return msgspec.structs.replace(entry, input=msgspec.structs.replace(recorded, queue=queue))


def _whole(run: Outcomes, refused: Container[ApplicationId]) -> Sums:
    found = run.by(lambda _: ALL, refused).get(ALL) or sums((), 0, refused)
    return msgspec.structs.replace(found, share_of_entitlement=run.received.whole)


def _queues(run: Outcomes, refused: Container[ApplicationId]) -> dict[str, Sums]:
    """The sums by queue, with the part of its entitlement that each received."""
    parts = run.received.queues
    return {
        name: msgspec.structs.replace(found, share_of_entitlement=parts.get(name))
        for name, found in run.by(lambda one: one.queue, refused).items()
    }


def _differences(old: dict[str, Sums], new: dict[str, Sums]) -> tuple[Difference, ...]:
    return tuple(Difference(name, old.get(name), new.get(name)) for name in sorted({**old, **new}))


def _moved(before: Outcomes, after: Outcomes) -> list[Moved]:
    moved = []
    for number, old in before.applications.items():
        new = after.applications.get(number)
        if new is None or old.turnaround_ms is None or new.turnaround_ms is None:
            continue
        if new.turnaround_ms != old.turnaround_ms:
            times = (old.turnaround_ms, new.turnaround_ms)
            moved.append(Moved(number, old.name, old.user, new.queue, *times))
    return sorted(moved, key=lambda one: (-one.change_ms, one.number))
