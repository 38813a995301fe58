"""`fairshare branch`: what a cluster would look like some time after a moment, if it had gone on
from there with a change, by the verbs that show a live one.
"""

from functools import partial
from pathlib import Path
from typing import Final

import click
import msgspec

from fairshare.cli.cells import duration_text
from fairshare.cli.options import DURATION
from fairshare.cli.verbs import Failure
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.lab.branch.branch import Branch
from fairshare.lab.branch.edits import until, with_order, with_settings
from fairshare.lab.branch.history import Cut, History, Moment
from fairshare.lab.branch.lives import with_expected_lives
from fairshare.lab.verbs.at import CUT, PASSED_ON, against, show, shown
from fairshare.lab.verbs.changes import Changes, changed
from fairshare.lab.verbs.plan import configuration_for
from fairshare.runtime.observers import Observers
from fairshare.runtime.recovery import Position
from fairshare.runtime.runtime import Observer

MOST_MS: Final = 31 * 86_400_000
"""How long a branch goes on at most: work that is not known to end costs time for each second."""


@click.command(context_settings=PASSED_ON)
@click.option(
    "--at", "cut", type=CUT, default="now", show_default=True, help="The moment, as for `at`."
)
@click.option(
    "--for", "span_ms", type=DURATION, required=True, help="How long it goes on: 10m, 2h."
)
@click.option(
    "--with",
    "orders",
    metavar="ORDER",
    multiple=True,
    help="An order at the beginning: 'undrain n1', 'kill 17', 'move 17 root.b', 'priority 17 5',"
    " 'hold 17', 'release 17', 'lose n1', 'safe-mode off'; repeatable.",
)
@changed
@click.option(
    "--conf",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Another configuration from the beginning on.",
)
@against
@click.argument("verb", metavar="queues|apps|why|eta|nodes")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    cut: Cut,
    span_ms: int,
    orders: tuple[str, ...],
    changes: Changes,
    conf: Path | None,
    against: Path,
    verb: str,
    arguments: tuple[str, ...],
) -> None:
    """Simulate from a moment of the history on, and show the cluster some time later.

    What others did after that moment they do again; run times are those of the history. What had
    not ended by its end runs as long as tasks like it did, and for ever if none has ended. Changes
    may come together; those of --load are of what is submitted after the moment.
    """
    if span_ms > MOST_MS:
        raise click.UsageError(f"--for is at most {duration_text(MOST_MS)}.")
    inner = shown(context, verb, arguments)
    with History.open(against) as history:
        moment = history.moment(cut)
        world = history.world(moment.origin())
    end_ms = world.begin_ms + span_ms
    world, _ = with_expected_lives(until(world, end_ms), moment.run_times())
    ordered = [partial(with_order, text=order) for order in orders]
    branch = Branch(world, (*changes.edits(), *ordered))
    if conf is not None:
        configuration = configuration_for(conf, world)
        if configuration.scheduler != world.scheduler:
            raise Failure(
                f"{conf} is of the {configuration.scheduler} scheduler, and a state of the"
                f" {world.scheduler} scheduler cannot go on with it: `fairshare plan` compares them"
            )
        settings = msgspec.json.encode(configuration.settings)
        loaded = partial(with_settings, settings=settings, words=f"the settings of {conf}")
        branch = msgspec.structs.replace(
            branch,
            edits=(loaded, *branch.edits),
            beat_ms=configuration.heartbeat_interval_ms,
            unused_expiry_ms=configuration.container_expiry_ms,
        )
    projections = moment.projections

    def observed(manager: ResourceManager) -> list[Observer]:
        table = Observers()
        projections.subscribe(table, manager.scheduler)
        return [lambda record: table.observe((record,))]

    try:
        world, words = branch.edited()
    except ValueError as error:
        raise Failure(str(error)) from None
    for each in words:
        click.echo(f"change: {each}", err=True)
    rerun = msgspec.structs.replace(branch, world=world, edits=()).begin(observed)
    rerun.run(end_ms)
    position = Position(rerun.runtime.position.sequence, end_ms)
    show(inner, Moment(position, rerun.manager, projections))
