"""Owns the restating of a world that begins with a state of one scheduler, for another scheduler,
which cannot take that state up: the state becomes inputs.

All nodes join, and what lives is submitted again under its number, with the tasks that are not
done; those that ran have what was left of their run times. Applications that masters drive are left
out, as their masters would ask again for what they had. Knows no file.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import (
    NO_CONDITIONS,
    ContainerExited,
    DrainNode,
    Input,
    LoadConfiguration,
    NodeJoined,
    ReserveApplication,
    SubmitApplication,
)
from fairshare.core.schedulers.protocol import State
from fairshare.lab.simulate.world import Entry, Life, Task, World

_Part = tuple[int, list[int]]
"""A group of tasks, and those of its tasks that are not done."""


def restated(world: World, settings: bytes) -> tuple[World, frozenset[ApplicationId]]:
    """The world without its origin, which loads `settings` first; and the applications that are
    left out of it."""
    assert world.origin is not None
    state = world.origin.manager().state
    inputs: list[Input] = [LoadConfiguration(settings, world.epoch_ms), *_nodes(state)]
    lives = dict(world.lives)
    typical_ms = dict(world.typical_ms)
    left_out = set()
    following = 1
    for number, application in sorted(state.applications.items()):
        if application.over:
            continue
        parts = _open_parts(application)
        if not parts:
            left_out.add(number)
            continue
        inputs += (ReserveApplication(number), _rest(application, parts))
        following = number + 1
        _move_lives(lives, world, application, parts)
        for old, known_ms in world.typical_ms.items():
            if old[0] == number and (new := _place(old[1], application, parts)) is not None:
                typical_ms[number, new] = known_ms
    if state.next_application > following:
        inputs.append(ReserveApplication(state.next_application - 1))
    first = min((one.number for one in world.entries), default=0) - len(inputs)
    begin = [Entry(world.begin_ms, first + at, 0, given) for at, given in enumerate(inputs)]
    later = [one for one in world.entries if _concerns(one.input, left_out)]
    found = replace(
        world,
        origin=None,
        entries=(*begin, *later),
        lives=lives,
        typical_ms=typical_ms,
        begun={},
        facts=(),
        pace=None,
    )
    return found, frozenset(left_out)


def _concerns(given: Input, left_out: set[ApplicationId]) -> bool:
    """Whether an input counts: not of what is left out, nor the end of what has been restated."""
    if type(given) is ContainerExited or type(given) is LoadConfiguration:
        return False
    return getattr(given, "application", 0) not in left_out


def _nodes(state: State) -> Iterator[Input]:
    for name, node in state.nodes.items():
        yield NodeJoined(name, state.offered(node), node.rack, node.attributes, node.host)
    for name in state.drains:
        yield DrainNode(name)


def _open_parts(application: Application) -> list[_Part]:
    """The groups whose tasks are not all done; of each first the tasks that run."""
    groups = enumerate(application.tasks.groups)
    parts = [
        (old, [*sorted(one.running), *sorted((*one.waiting, *one.paused))]) for old, one in groups
    ]
    return [part for part in parts if part[1]]


def _place(old: int, application: Application, parts: list[_Part]) -> int | None:
    """The number of a group among what is left; groups that are added later come behind it."""
    count = len(application.tasks.groups)
    if old >= count:
        return old - count + len(parts)
    return next((new for new, (group, _) in enumerate(parts) if group == old), None)


def _rest(application: Application, parts: list[_Part]) -> SubmitApplication:
    """What is left of an application as a submission."""
    board = application.tasks.groups
    names = {board[old].spec.name for old, _ in parts}
    groups = []
    for old, tasks in parts:
        spec = board[old].spec
        # Groups that have begun wait for none, and no group waits for one that is done.
        after = () if board[old].started else tuple(one for one in spec.after if one in names)
        changed = replace(spec, count=len(tasks), after=after, array=None)
        groups.append(changed)
    begun = application.attempt.number > 0
    return replace(
        application.submission,
        number=application.id,
        queue=application.queue,
        tasks=tuple(groups),
        start=NO_CONDITIONS if begun else application.submission.start,
    )


def _move_lives(
    lives: dict[Task, tuple[Life, ...]], world: World, application: Application, parts: list[_Part]
) -> None:
    """Give each task that is left the lives that it had, first what is left of one that runs."""
    number = application.id
    rest = {
        (one.group, one.task): world.begun[container]
        for container, one in application.tasks.assigned.items()
        if container in world.begun
    }
    own = {task: found for task, found in lives.items() if task[0] == number}
    for known in own:
        del lives[known]
    for new, (old, tasks) in enumerate(parts):
        for place, task in enumerate(tasks):
            begun = rest.get((old, task))
            now = () if begun is None else (replace(begun, start_ms=begun.start_ms or 0),)
            found = (*now, *own.get((number, old, task), ()))
            if found:
                lives[number, new, place] = found
    for (_, group, task), found in own.items():
        if group >= len(application.tasks.groups):  # it is added later
            lives[number, group - len(application.tasks.groups) + len(parts), task] = found
