"""The changes of a history that `plan` and `branch` can be asked about: other nodes, another load,
and work that joins. They may come together."""

import functools
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
import msgspec

from fairshare.cli.options import Number, Verb, Whole
from fairshare.lab.branch.branch import Edit, Edited
from fairshare.lab.branch.edits import with_load, with_nodes, with_workload
from fairshare.lab.simulate.readers import read_workload
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.world import World


class Changes(msgspec.Struct, frozen=True):
    """Other nodes, so many times the load (of a queue; drawn by a seed), and a workload that
    joins."""

    nodes: Sequence[str] = ()
    load: float | None = None
    queue: str | None = None
    seed: int = 1
    join: Path | None = None

    def edits(self) -> tuple[Edit, ...]:
        """The same as changes of a world; none: nothing changes."""
        edits: list[Edit] = [partial(with_nodes, text=change) for change in self.nodes]
        if self.load is not None:
            edits.append(partial(with_load, factor=self.load, queue=self.queue, seed=self.seed))
        if self.join is not None:
            edits.append(partial(_joined, path=self.join))
        return tuple(edits)


def _joined(world: World, path: Path) -> Edited:
    return with_workload(world, read_workload(path, ReaderOptions(types=world.types)))


def changed(verb: Verb) -> Verb:
    """Add the options of the changes to a verb, and pass them to it as `changes`."""

    @click.option(
        "--nodes",
        metavar="CHANGE",
        multiple=True,
        help="Other nodes than in the history: 2x, +4 (like the largest), +n4:64g,16c, -2, -n3;"
        " repeatable.",
    )
    @click.option(
        "--load",
        type=Number(0, 100, zero=False),
        metavar="FACTOR",
        help="So many times the applications: 1.2 submits a fifth of them once more.",
    )
    @click.option(
        "--join",
        metavar="WORKLOAD",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="The applications of a workload join, whose instants count from where the simulation"
        " begins.",
    )
    @click.option(
        "--queue", metavar="QUEUE", help="With --load: only those of this queue and below."
    )
    @click.option(
        "--seed", type=Whole(1), default=1, show_default=True, help="With --load: draws which ones."
    )
    @functools.wraps(verb)
    def passed(
        *arguments: object,
        nodes: tuple[str, ...],
        load: float | None,
        join: Path | None,
        queue: str | None,
        seed: int,
        **options: object,
    ) -> None:
        if queue is not None and load is None:
            raise click.UsageError("--queue says whose load changes: name --load, too.")
        verb(*arguments, changes=Changes(nodes, load, queue, seed, join), **options)

    return passed
