"""A branch: how a world goes on from a cut, with edits; and work in a copy of this process (fork),
which leaves nothing behind but its result.

Everything that asks "what if" is one: a plan is two of them from the same cut, and a proof of a
remedy one for each candidate.
"""

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.documents.ready import ready
from fairshare.lab.simulate.rerun import Pause, Rerun
from fairshare.lab.simulate.world import World
from fairshare.runtime.runtime import Observer
from fairshare.settings.registry import family_of


class Edited(NamedTuple):
    """A changed world, and what was changed, in words."""

    world: World
    words: str


Edit = Callable[[World], Edited]
"""Raises ValueError with what is wrong about it."""


class Branch(msgspec.Struct, frozen=True):
    """What happens from a cut on.

    `world` begins there (`World.origin`; None: with nothing), and has what others did later, with
    the lives of what runs: recorded or drawn. `edits` change it, in their order. `settings` replace
    those of the history, encoded for LoadConfiguration, with those of `scheduler`.
    `unused_expiry_ms` is how long a container may be unused by its master.
    """

    world: World
    edits: tuple[Edit, ...] = ()
    scheduler: str | None = None
    settings: bytes | None = None
    beat_ms: int = 1_000
    unused_expiry_ms: int | None = None

    def edited(self) -> tuple[World, tuple[str, ...]]:
        """The world with all edits, and these in words. Raises ValueError."""
        world, words = self.world, []
        for edit in self.edits:
            world, said = edit(world)
            words.append(said)
        return world, tuple(words)

    def begin(
        self,
        observers: Callable[[ResourceManager], Sequence[Observer]],
        advance: Callable[[int], None] | None = None,
        *,
        late: bool = False,
        pauses: Sequence[Pause] = (),
        paced: bool = False,
        as_recorded: bool = False,
    ) -> Rerun:
        """A run of it, which `run` takes to an instant or to the end, watched by the observers of
        its manager.

        `late`, `pauses` and `paced` are those of Rerun: how busy the servers of the history were.
        `as_recorded`: the world is that of the history.
        """
        world, _ = self.edited()
        manager = (
            ResourceManager(family_of(self.scheduler or world.scheduler).create(world.types))
            if world.origin is None
            else world.origin.manager()
        )
        return Rerun(
            world,
            manager,
            self.settings,
            beat_interval_ms=self.beat_ms,
            unused_expiry_ms=self.unused_expiry_ms,
            late=late,
            pauses=pauses,
            paced=paced,
            as_recorded=as_recorded and not self.edits,
            observers=observers(manager),
            advance=advance,
        )


_Result = TypeVar("_Result")


def apart(work: Callable[[], _Result], form: Any) -> _Result:
    """What some work returns, of a form, which is done in a copy, and may change all that it reads.
    Raises RuntimeError if the copy ends without a result; OSError if there is no copy."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Later releases of Python warn of locks that other threads hold: the copy takes none.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _work_and_exit(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status or not content:
        raise RuntimeError(f"a copy ended with {os.waitstatus_to_exitcode(status)}")
    result: _Result = msgspec.msgpack.decode(content, type=ready(form))
    return result


def _work_and_exit(work: Callable[[], object], writing: int) -> None:
    status = 1
    try:
        gc.freeze()  # a collection would write to the pages of all objects
        content = memoryview(msgspec.msgpack.encode(work()))
        while content:
            content = content[os.write(writing, content) :]
        status = 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)
