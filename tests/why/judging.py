"""What is found of a situation: each deviation as a sentence."""

from collections.abc import Iterator
from typing import Any

import msgspec
from tests.unit.core.schedulers.waiting import Cluster
from tests.why.planting import Built, Situation

from fairshare.api.applications import Action, Proved, Remedy
from fairshare.core.model.identifiers import parse_application
from fairshare.core.model.inputs import (
    ChangeBlacklist,
    Input,
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    ReleaseApplication,
    SetSafeMode,
    UndrainNode,
)
from fairshare.lab.branch.branch import Branch
from fairshare.lab.branch.history import origin_of
from fairshare.lab.branch.lives import FOR_EVER_MS, with_expected_lives
from fairshare.lab.branch.proving import REMEDY_MS, prove
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.world import Entry
from fairshare.runtime.recovery import Position
from fairshare.server.insight.why import words_of
from fairshare.settings.registry import family_of

APART_MS = 5_000
"""The time between two actions of a remedy: people are slower than a simulation."""


def proved(built: Built) -> Proved:
    """What `why --prove` finds in a cluster whose containers run on for ever."""
    origin = origin_of(built.cluster.manager, Position(1, 0))
    return prove(origin, built.waits, lambda *_: FOR_EVER_MS)


def deviations(situation: Situation) -> Iterator[str]:
    """All that is not as it should be."""
    yield from _named(situation)
    yield from _lifted(situation)
    yield from _proved(situation)


def _named(situation: Situation) -> Iterator[str]:
    """The causes, and no other; and their numbers."""
    built = situation.build()
    reasons = built.cluster.why(built.waits)
    named = {(one.cause, one.queue) for first in reasons for one in (first, *first.also)}
    causes = {cause for cause, _ in named}
    expected = {one.cause for one in situation.planted.values()}
    if causes != expected:
        yield f"names {', '.join(sorted(causes))} and not {', '.join(sorted(expected))}"
    words = words_of(built.cluster.manager.state, 0)
    said = " ".join(text for one in reasons for text in msgspec.structs.astuple(words.explain(one)))
    for name, one in situation.planted.items():
        if one.queue and (one.cause, one.queue) not in named:
            yield f"{name}: {one.queue} is not named"
        if one.words not in said:
            yield f"{name}: {one.words!r} is not said: {said}"


def _lifted(situation: Situation) -> Iterator[str]:
    """Lifting all starts it, and lifting one less does not."""
    names = situation.names
    for missing in names if len(names) > 1 else ():
        built = situation.build()
        built.lift(*(name for name in names if name != missing))
        if built.containers():
            yield f"starts without lifting {missing}"
    built = situation.build()
    if built.containers():
        yield "does not wait"
    built.lift(*names)
    if not built.containers():
        yield "does not start when all is lifted"


def _proved(situation: Situation) -> Iterator[str]:
    """Each remedy that is proved starts it, and there is one."""
    found = proved(situation.build())
    if not found.remedies:
        yield "no remedy is proved"
    if not found.complete:
        yield "the search has no end"
    for remedy in found.remedies:
        built = situation.build()
        if not starts(situation.scheduler, built.cluster, built.waits, remedy):
            words = " and ".join(action.words for action in remedy.actions)
            yield f"does not start although {words}"


def _inputs(scheduler: str, cluster: Cluster, waits: int, remedy: Remedy) -> list[Input]:
    """What does what is printed of a remedy, in its order; limits are raised by one reload."""
    state, family = cluster.manager.state, family_of(scheduler)
    settings: Any = state.settings
    for action in remedy.actions:
        if not action.setting:
            continue
        for first in cluster.why(waits):
            for reason in (first, *first.also):
                raising = family.raised(settings, reason, state.total)
                if raising is not None and raising.setting == action.setting:
                    texts = [raising.text(value) for value in raising.values]
                    settings = raising.settings(raising.values[texts.index(action.value)])
                    break
            else:
                continue
            break
    loading = LoadConfiguration(msgspec.json.encode(settings), 1)
    inputs: list[Input] = []
    for action in remedy.actions:
        if not action.setting:
            inputs.append(_input(cluster, waits, action))
        elif loading not in inputs:
            inputs.append(loading)
    return inputs


def _input(cluster: Cluster, waits: int, action: Action) -> Input:
    """What does an action, from what is printed of it."""
    state = cluster.manager.state
    match action.command.split()[1:]:
        case ["admin", "undrain", node]:
            return UndrainNode(node)
        case ["admin", "safe-mode", "off"]:
            return SetSafeMode(False)
        case ["release", name]:
            return ReleaseApplication(parse_application(name) or 0)
        case ["kill", name]:
            return KillApplication(parse_application(name) or 0)
    if "blacklist" in action.words:
        return ChangeBlacklist(waits, (), ("n2",))
    total = max(state.offered(node) for node in state.nodes.values())
    reasons = [one for first in cluster.why(waits) for one in (first, *first.also)]
    wanted = [one.wanted for one in reasons if one.wanted is not None]
    for one in wanted:
        total = tuple(max(pair) for pair in zip(total, one, strict=True))
    return NodeJoined("n9", total)


def starts(kind: str, cluster: Cluster, number: int, remedy: Remedy) -> bool:
    """Whether an application gets a container in a cluster that goes on as a server's does, and in
    which one action of a remedy after the other is carried out."""
    before = cluster.manager.state.applications[number].containers_allocated
    origin = origin_of(cluster.manager, Position(1, 0))
    world = read_history((), kind, cluster.manager.state.types, 1, origin)
    world = with_expected_lives(world, lambda *_: FOR_EVER_MS).world
    inputs = _inputs(kind, cluster, number, remedy)
    entries = [Entry(at * APART_MS, at, at, given) for at, given in enumerate(inputs, 1)]
    world = msgspec.structs.replace(world, entries=(*world.entries, *entries))
    rerun = Branch(world).begin(lambda _: ())
    rerun.run(REMEDY_MS)
    after: int = rerun.manager.state.applications[number].containers_allocated
    return after > before
