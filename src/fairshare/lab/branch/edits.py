"""Changes to a history: other nodes, more or less work, new work, and orders.

They are functions of a world (`simulate/world.py`). What is copied has the run times of its
original, so that a history and its change differ in nothing else.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, cycle, islice
from statistics import median
from typing import Final

from msgspec.structs import replace

from fairshare.core.model.events import RequestRefused
from fairshare.core.model.identifiers import ApplicationId, parse_application
from fairshare.core.model.inputs import (
    ContinueNumbers,
    DrainNode,
    HoldApplication,
    Input,
    KillApplication,
    LoadConfiguration,
    MoveApplication,
    NodeJoined,
    NodeLost,
    ReleaseApplication,
    RequeueApplication,
    ReserveApplication,
    SetPriority,
    SetSafeMode,
    SubmitApplication,
    UndrainNode,
    UpdateShares,
)
from fairshare.core.model.queues import full_name
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.documents.sizes import MOST, parse_size
from fairshare.lab.branch.branch import Edited, apart
from fairshare.lab.simulate.workload import GroupPlan, Workload
from fairshare.lab.simulate.world import Entry, Life, World
from fairshare.wording import counted

_TIMES: Final = re.compile(r"(\d+(?:\.\d+)?)x")
_MORE: Final = re.compile(r"\+(\d+|[A-Za-z][\w.-]*)(?::(.+))?")
_FEWER: Final = re.compile(r"-(\d+|[A-Za-z][\w.-]*)")
MOST_NODES: Final = 100_000


# Nodes.


def with_nodes(world: World, text: str) -> Edited:
    """The world with other nodes: `2x` of each, `+4` more, `+4:64g,16c` or `+NAME:64g,16c` of a
    size (further types as `yarn.io/gpu=4`), `-2` fewer or `-NAME` without one.

    New nodes are there from the beginning; without a size they are like the largest. Of fewer
    nodes the last ones are left out. Raises ValueError.
    """
    there = nodes_of(world)
    if times := _TIMES.fullmatch(text):
        wanted = round(min(len(there) * float(times[1]), len(there) + MOST_NODES + 1))
        if wanted < 1:
            raise ValueError(f"{text!r} leaves no node of {len(there)}")
        if wanted < len(there):
            return _without(world, list(there)[wanted:])
        copied = islice(cycle(there.items()), wanted - len(there))
        models = [(f"{name}-x", node) for name, node in copied]
        return _with_more(world, _numbered_nodes(there, models))
    if more := _MORE.fullmatch(text):
        name, size = more[1], more[2]
        if name in there:
            raise ValueError(f"{text!r}: there is a node {name!r} already")
        if not there and size is None:
            raise ValueError(f"{text!r}: the history has no node: add a size, as in {text}:64g,16c")
        node = max(there.values(), key=lambda joined: joined.total) if there else NodeJoined("", ())
        if size is not None:
            node = replace(node, total=_total(size, world.types))
        if not name.isdecimal():
            return _with_more(world, [replace(node, node=name, host="")])
        models = [("more-", node)] * min(int(name), MOST_NODES + 1)
        return _with_more(world, _numbered_nodes(there, models))
    if fewer := _FEWER.fullmatch(text):
        name = fewer[1]
        if not name.isdecimal():
            if name not in there:
                raise ValueError(f"{text!r}: the history has no node {name!r}")
            return _without(world, [name])
        if int(name) >= len(there):
            raise ValueError(f"{text!r} leaves no node of {len(there)}")
        return _without(world, list(there)[len(there) - int(name) :])
    raise ValueError(f"{text!r} does not change nodes: write 2x, +4, +n4:64g,16c, -2 or -n3")


def nodes_of(world: World) -> dict[str, NodeJoined]:
    """The nodes that the history ever had, in the order in which they joined."""
    nodes: dict[str, NodeJoined] = {}
    if world.origin is not None:
        state = world.origin.manager().state
        for name, node in state.nodes.items():
            nodes[name] = NodeJoined(
                name, state.offered(node), node.rack, node.attributes, node.host
            )
    for entry in world.entries:
        if type(entry.input) is NodeJoined:
            nodes.setdefault(entry.input.node, entry.input)
    return nodes


def _numbered_nodes(
    there: Mapping[str, NodeJoined], models: Sequence[tuple[str, NodeJoined]]
) -> list[NodeJoined]:
    """Nodes like these, each with the beginning of its name, and the next number behind it that no
    node has."""
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    nodes = []
    for stem, node in models:
        name = next(name for at in numbers[stem] if (name := f"{stem}{at}") not in there)
        nodes.append(replace(node, node=name, host=""))
    return nodes


def _with_more(world: World, nodes: Sequence[NodeJoined]) -> Edited:
    if len(nodes) > MOST_NODES:
        raise ValueError(f"too many nodes: at most {MOST_NODES:,} are added at once")
    joined = [_at_the_beginning(world, node) for node in nodes]
    words = f"{counted(len(nodes), 'more node')}, {_listed([node.node for node in nodes])}"
    entries = _in_order([*world.entries, *joined])
    return Edited(replace(world, entries=entries, nodes=world.nodes + len(nodes)), words)


def _without(world: World, names: Sequence[str]) -> Edited:
    """Nothing of these nodes happens; where the history begins with them, they are lost at once."""
    gone = frozenset(names)
    kept = [
        entry
        for entry in world.entries
        if not (
            type(entry.input) in (NodeJoined, NodeLost, DrainNode, UndrainNode)
            and entry.input.node in gone  # type: ignore[union-attr]
        )
    ]
    if world.origin is not None:
        state = world.origin.manager().state
        lost = [NodeLost(name) for name in names if name in state.nodes]
        kept += [_at_the_beginning(world, given) for given in lost]
    words = f"without {counted(len(names), 'node')}, {_listed(names)}"
    return Edited(
        replace(world, entries=_in_order(kept), nodes=max(0, world.nodes - len(names))), words
    )


def _total(text: str, types: ResourceTypes) -> Resource:
    """A size such as `64g,16c,yarn.io/gpu=4`."""
    amounts = dict.fromkeys(types.names, 0)
    for part in map(str.strip, text.split(",")):
        name, amount = _amount(part)
        if name not in amounts:
            raise ValueError(
                f"{part!r}: no such type in the history, which has {', '.join(types.names)}"
            )
        amounts[name] = amount
    if not (amounts[MEMORY] and amounts[VCORES]):
        raise ValueError(f"{text!r}: a node needs memory and vcores, as in 64g,16c")
    return tuple(amounts.values())


def _amount(text: str) -> tuple[str, int]:
    """A resource type and its amount: `64g`, `16c` or `yarn.io/gpu=4`."""
    name, _, number = text.rpartition("=")
    if not name and text[-1:] in ("c", "C"):
        name, number = VCORES, text[:-1]
    if name and number.isdecimal() and int(number) <= MOST:
        return name, int(number)
    if name or number.isdecimal():  # of which type?
        raise ValueError(f"{text!r} is not an amount: write 64g, 16c or yarn.io/gpu=4")
    return MEMORY, parse_size(text)


# Work.


def with_load(world: World, factor: float, queue: str | None = None, seed: int = 1) -> Edited:
    """The world with `factor` times its applications, or those of a queue and all below it.

    Which ones are submitted once more, or left out, is drawn by `seed`. A copy comes later than its
    original by at most the mean time between two submissions. Applications with masters of their
    own have no copies, as nothing is known of what another master would ask for. Raises ValueError.
    """
    if not 0 < factor <= 100:
        raise ValueError(f"{factor:g} times the load: a factor above 0, and at most 100, is needed")
    world, numbers = _numbered(world)
    submissions = [entry for entry in world.entries if type(entry.input) is SubmitApplication]
    chosen = [one for one in submissions if _is_below(world.queues.get(_number_of(one), ""), queue)]
    if not chosen:
        to = "" if queue is None else f" to {queue!r}"
        raise ValueError(
            f"no application was submitted{to} in the time that is simulated, and so"
            " there is no load to change"
        )
    draw = random.Random(seed)  # noqa: S311  (which work is drawn is not secret)
    if factor < 1:
        fewer = len(chosen) - round(factor * len(chosen))
        gone = {_number_of(entry) for entry in draw.sample(chosen, fewer)}
        kept = [one for one in world.entries if not _is_of(one, gone)]
        words = f"without {counted(len(gone), 'application')}{_of_queue(queue)}"
        return Edited(replace(world, entries=tuple(kept)), f"{words}, drawn by seed {seed}")
    plain = [entry for entry in chosen if _has_tasks_alone(entry)]
    whole, rest = divmod(round((factor - 1) * len(plain)), max(len(plain), 1))
    copied = [*plain * whole, *draw.sample(plain, rest)]
    apart_ms = (world.end_ms - world.begin_ms) // max(len(submissions), 1)
    lives: dict[ApplicationId, list[tuple[int, int]]] = {}
    for number, group, task in world.lives:
        lives.setdefault(number, []).append((group, task))
    groups: dict[ApplicationId, list[int]] = {}
    for number, group in world.typical_ms:
        groups.setdefault(number, []).append(group)
    entries, all_lives, typical_ms = list(world.entries), dict(world.lives), dict(world.typical_ms)
    queues = dict(world.queues)
    for new, entry in enumerate(copied, numbers):
        old = _number_of(entry)
        at_ms = entry.at_ms + draw.randint(0, apart_ms)
        entries.append(Entry(at_ms, entry.number, 0, replace(entry.input, number=new)))
        queues[new] = queues.get(old, "")
        for group, task in lives.get(old, ()):
            all_lives[new, group, task] = world.lives[old, group, task]
        for group in groups.get(old, ()):
            typical_ms[new, group] = world.typical_ms[old, group]
    reserved = _at_the_beginning(world, ReserveApplication(numbers + len(copied)))
    words = f"{counted(len(copied), 'more application')}{_of_queue(queue)}, drawn by seed {seed}"
    if len(plain) < len(chosen):
        words += f" (those of {counted(len(chosen) - len(plain), 'master')} are not copied)"
    return Edited(
        replace(
            world,
            entries=_in_order([*entries, reserved]),
            lives=all_lives,
            typical_ms=typical_ms,
            queues=queues,
        ),
        words,
    )


def with_moved_arrivals(world: World, seed: int) -> Edited:
    """The world as it might have been as well: each application comes earlier or later than it did
    by at most the mean time between two submissions, drawn by `seed`; nothing else changes."""
    world, _ = _numbered(world)
    entries = list(world.entries)
    places = [
        at
        for at, one in enumerate(entries)
        # What waits for others stays behind them.
        if type(one.input) is SubmitApplication and not one.input.start.after
    ]
    apart_ms = (world.end_ms - world.begin_ms) // max(len(places), 1)
    first_ms = _at_the_beginning(world, UpdateShares()).at_ms
    draw = random.Random(seed)  # noqa: S311  (what is drawn is not secret)
    for at in places:
        entry = entries[at]
        at_ms = entry.at_ms + draw.randint(-apart_ms, apart_ms)
        # Behind the settings and nodes with which the history begins.
        at_ms = min(max(at_ms, first_ms + 1), world.end_ms)
        entries[at] = replace(entry, at_ms=at_ms, turn=0)
    words = f"each application up to {apart_ms / 1_000:,g} s earlier or later, drawn by seed {seed}"
    return Edited(replace(world, entries=_in_order(entries)), words)


def _numbered(world: World) -> tuple[World, ApplicationId]:
    """The world whose submissions name the numbers that they got, and the next number: a copy
    between them does not change those of the others."""
    following = 1 if world.origin is None else world.origin.manager().state.next_application
    entries = []
    for entry in world.entries:
        input_ = entry.input
        if type(input_) is ReserveApplication:
            following = max(following, input_.at_least) + 1
        elif type(input_) is ContinueNumbers:
            following = max(following, input_.application + 1)
        elif type(input_) is SubmitApplication:
            number = following if input_.number is None else input_.number
            following = max(following, number + 1)
            entry = replace(entry, input=replace(input_, number=number))
        entries.append(entry)
    return replace(world, entries=tuple(entries)), following


def _number_of(entry: Entry) -> ApplicationId:
    number: ApplicationId | None = entry.input.number  # type: ignore[union-attr]
    assert number is not None
    return number


def _has_tasks_alone(entry: Entry) -> bool:
    return entry.input.driver is None and bool(entry.input.tasks)  # type: ignore[union-attr]


def _is_below(name: str, queue: str | None) -> bool:
    return queue is None or f"{full_name(name)}.".startswith(f"{full_name(queue)}.")


def _is_of(entry: Entry, numbers: set[ApplicationId]) -> bool:
    if type(entry.input) is SubmitApplication:
        return entry.input.number in numbers
    return getattr(entry.input, "application", 0) in numbers


def _of_queue(queue: str | None) -> str:
    return "" if queue is None else f" of {queue}"


def with_workload(world: World, workload: Workload) -> Edited:
    """The world with the applications of a workload, whose instants count from its beginning. Its
    nodes are ignored. Containers start as fast as those of the world do in the median. Raises
    ValueError.
    """
    if workload.sessions:
        raise ValueError("sessions cannot join a history: give their applications instants (`at`)")
    arrivals = [one for one in workload.arrivals if world.begin_ms + one.at_ms <= world.end_ms]
    if not arrivals:
        lasts_s = (world.end_ms - world.begin_ms) / 1_000
        raise ValueError(
            f"no application arrives in the time that is simulated, which is {lasts_s:,g} s"
        )
    if any(plan.by_locality for one in arrivals for plan in one.plans):
        raise ValueError("run times by locality cannot join a history: give tasks one duration")
    world, numbers = _numbered(world)
    starts_ms = [life.start_ms for lives in world.lives.values() for life in lives if life.start_ms]
    start_ms = round(median(starts_ms)) if starts_ms else 0
    entries, queues = list(world.entries), dict(world.queues)
    all_lives, typical_ms = dict(world.lives), dict(world.typical_ms)
    last = max((entry.number for entry in entries), default=0)
    for number, arrival in enumerate(arrivals, numbers):
        submission = replace(arrival.submission, number=number)
        at_ms = world.begin_ms + arrival.at_ms
        entries.append(Entry(at_ms, last, 0, submission))
        queues[number] = full_name(submission.queue)
        for group, (spec, group_plan) in enumerate(
            zip(submission.tasks, arrival.plans, strict=True)
        ):
            for task in range(spec.count):
                all_lives[number, group, task] = _lives(group_plan, task, start_ms)
            typical_ms[number, group] = group_plan.duration_ms(0)
    reserved = _at_the_beginning(world, ReserveApplication(numbers + len(arrivals)))
    words = f"{counted(len(arrivals), 'application')} of a workload"
    if late := len(workload.arrivals) - len(arrivals):
        words += f" ({counted(late, 'later one')} left out, as the simulation ends before)"
    joined = replace(
        world,
        entries=_in_order([*entries, reserved]),
        lives=all_lives,
        typical_ms=typical_ms,
        queues=queues,
    )
    return Edited(joined, words)


def _lives(group_plan: GroupPlan, task: int, start_ms: int) -> tuple[Life, ...]:
    """One for each attempt that fails, and the one that does not."""
    run_ms = group_plan.duration_ms(task)
    failing = next(n for n in count() if not group_plan.fails(task, n + 1))
    return (*(Life(start_ms, run_ms, 1),) * failing, Life(start_ms, run_ms))


# Orders.


def _application(word: str) -> ApplicationId:
    number = parse_application(word)
    if number is None:
        raise ValueError(f"{word!r} is not an application: write its id or its number")
    return number


def _switch(word: str) -> bool:
    if word not in ("on", "off"):
        raise ValueError(f"{word!r}: write on or off")
    return word == "on"


ORDERS: Final[Mapping[str, tuple[str, Callable[..., Input]]]] = {
    "undrain": ("NODE", UndrainNode),
    "drain": ("NODE", DrainNode),
    "lose": ("NODE", NodeLost),
    "kill": ("APP", lambda word: KillApplication(_application(word))),
    "hold": ("APP", lambda word: HoldApplication(_application(word))),
    "release": ("APP", lambda word: ReleaseApplication(_application(word))),
    "requeue": ("APP", lambda word: RequeueApplication(_application(word))),
    "move": ("APP QUEUE", lambda word, name: MoveApplication(_application(word), full_name(name))),
    "priority": ("APP N", lambda word, number: SetPriority(_application(word), int(number))),
    "safe-mode": ("on|off", lambda word: SetSafeMode(_switch(word))),
}
"""The orders by their first word, with the words that follow, like the verbs of a server."""


def with_order(world: World, text: str) -> Edited:
    """The world in which an order is given at its beginning: `undrain n1`, `kill 17`,
    `move 17 root.b`. Raises ValueError."""
    name, *words = text.split() or [""]
    if name not in ORDERS:
        raise ValueError(f"{text!r} is not an order: it begins with one of {', '.join(ORDERS)}")
    form, made = ORDERS[name]
    if len(words) != len(form.split()):
        raise ValueError(f"{text!r}: write {name} {form}")
    try:
        order = made(*words)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None
    return with_inputs(world, [order], text)


def with_inputs(world: World, inputs: Sequence[Input], words: str, apart_ms: int = 0) -> Edited:
    """The world in which something is done at its beginning, after what other edits do there: each
    input so much later than the one before. Raises ValueError if the scheduler refuses it."""
    if world.origin is not None:
        # In a copy: where the state is at hand, it is the same one from which the branch goes on.
        reason = apart(lambda: _refusal(world, inputs), str)
        if reason:
            raise ValueError(f"{words} is refused: {reason}")
    begin = [_at_the_beginning(world, given) for given in inputs]
    begin = [replace(one, at_ms=one.at_ms + at * apart_ms) for at, one in enumerate(begin)]
    return Edited(replace(world, entries=_in_order([*world.entries, *begin])), words)


def _refusal(world: World, inputs: Sequence[Input]) -> str:
    """Why the scheduler refuses one of these inputs at the beginning of a world with an origin;
    empty: it refuses none. Changes the state."""
    assert world.origin is not None
    manager = world.origin.manager()
    for entry in world.entries:
        if entry.number > world.origin.position.sequence:
            break
        manager.handle(world.begin_ms, entry.input)
    for given in inputs:
        for event in manager.handle(world.begin_ms, given):
            if type(event) is RequestRefused:
                return event.reason
    return ""


def with_settings(world: World, settings: bytes, words: str) -> Edited:
    """The world that follows these settings, encoded for LoadConfiguration, from its beginning on.
    Raises ValueError if the scheduler refuses them."""
    kept = tuple(one for one in world.entries if type(one.input) is not LoadConfiguration)
    loading = LoadConfiguration(settings, world.epoch_ms)
    return with_inputs(replace(world, entries=kept), [loading], words)


def until(world: World, end_ms: int) -> World:
    """The world that ends at an instant, however long its history goes on. What drivers do then
    may come earlier if something changes."""
    kept = tuple(one for one in world.entries if one.at_ms <= end_ms or one.after)
    return replace(world, entries=kept, end_ms=end_ms)


# All.


def _at_the_beginning(world: World, input_: Input) -> Entry:
    """An input that comes right after the state, or the settings and nodes, with which the world
    begins."""
    if world.origin is not None:
        return Entry(world.begin_ms, world.origin.position.sequence, 0, input_)
    first = next(one for one in world.entries if type(one.input) is LoadConfiguration)
    for entry in world.entries:
        if type(entry.input) is SubmitApplication or entry.at_ms > first.at_ms:
            break
        first = entry
    return replace(first, input=input_, after=(), delay_ms=0)


def _in_order(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: (entry.at_ms, entry.number)))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"
