"""`fairshare at`: what a cluster looked like at a moment of its history, by the verbs that show a
live one.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from fairshare.cli.instants import HOW_TO_WRITE, parse_moment_ms
from fairshare.cli.options import STATE_DEFAULT, server_state
from fairshare.cli.verbs import verb_of
from fairshare.lab.branch.history import NOW, Cut, History, Moment
from fairshare.lab.branch.past_server import client_of
from fairshare.runtime.journal.sqlite import JOURNAL_FILE

SHOWING: Final = ("queues", "apps", "why", "eta", "nodes")
"""The verbs that a moment answers."""

RECORD: Final = "record:"


class CutType(click.ParamType[Cut]):
    """`now`, `record:1234`, or an instant as `history --since` takes it."""

    name = "T"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> Cut:
        """Parse it; a usage error says what to write."""
        text = str(value).strip()
        if text == "now":
            return NOW
        if text.startswith(RECORD):
            number = text.removeprefix(RECORD)
            if not (number.isascii() and number.isdigit() and 0 < int(number[:19]) < 2**63):
                self.fail(f"{text!r} is not a record: write record:1234")
            return Cut(record=int(number))
        try:
            return Cut(at_ms=parse_moment_ms(text, datetime.now(UTC).astimezone()))
        except ValueError:
            self.fail(f"{text!r} is not a moment: {HOW_TO_WRITE}, now, or record:1234")


CUT: Final = CutType()


class StatePath(click.Path):
    """A state directory. Of a file in it the directory is named: a shell makes files of `DIR/*`,
    and the further ones would be arguments."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """The path; a usage error says which directory to name."""
        path = Path(value)
        if path.is_file() and path.name != JOURNAL_FILE:
            self.fail(f"{path} is a file: name the directory, {path.parent}", param, ctx)
        return path


STATE_PATH: Final = StatePath(path_type=Path)

against = click.option(
    "--against",
    metavar="DIR",
    type=STATE_PATH,
    default=server_state,
    help=f"The state directory; its server may be running. {STATE_DEFAULT}",
)

PASSED_ON: Final[dict[str, Any]] = {
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
"""For verbs that end with another verb and its options."""


def shown(context: click.Context, verb: str, arguments: tuple[str, ...]) -> click.Context:
    """A verb that shows a cluster, with its arguments. Raises UsageError, also for what chooses
    another moment or another cluster than the one that is shown."""
    if verb not in SHOWING:
        raise click.UsageError(f"{verb!r} shows no moment: name one of {', '.join(SHOWING)}.")
    try:
        inner = verb_of(verb).make_context(verb, [*arguments], parent=context.find_root())
    except click.NoSuchOption as error:
        name = error.option_name
        if any(name in parameter.opts for parameter in context.command.params):
            raise click.UsageError(f"{name} comes before '{verb}', not behind it.") from error
        raise
    if inner.params.get("url") is not None:
        raise click.UsageError("--url names a live server: the moment is that of --against.")
    if inner.params.get("against") is not None:  # of `eta`, as --at is, which needs it
        raise click.UsageError(f"--against comes before '{verb}', not behind it.")
    return inner


def show(inner: click.Context, moment: Moment) -> None:
    """Run such a verb on the cluster of a moment."""
    with client_of(moment) as client:
        inner.find_root().obj = lambda _: client
        with inner:
            inner.command.invoke(inner)


class _WithMoment(click.Command):
    """A command whose first argument is a moment, with its options before or behind that."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the moment out of the arguments."""
        moment = args.pop(0) if args and not args[0].startswith("-") else None
        rest = super().parse_args(ctx, args)  # ends here for --help
        if ctx.resilient_parsing:
            return rest  # a shell completes a line that is not whole yet
        if moment is None:  # what came first behind the options was not the verb yet
            moment, (verb, *arguments) = ctx.params["verb"], ctx.params["arguments"] or (None,)
            if verb is None:
                ctx.fail("Name a moment, and what to show of it: fairshare at 2h queues.")
            ctx.params.update(verb=verb, arguments=tuple(arguments))
        ctx.params["cut"] = CUT.convert(moment, None, ctx)
        return rest


@click.command(cls=_WithMoment, options_metavar="T [OPTIONS]", context_settings=PASSED_ON)
@against
@click.argument("verb", metavar="queues|apps|why|eta|nodes")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context, cut: Cut, against: Path, verb: str, arguments: tuple[str, ...]
) -> None:
    """Show the queues, the applications, the nodes or a reason as of a moment T of the history.

    T is an instant ('2026-11-23 14:30', yesterday), an age such as 2h, the number of a record
    (record:1234), or now. The rest is a verb with its options, as for a live server:
    fairshare at 10m why 17. The state is that of the journal, exactly; nothing is simulated.
    """
    inner = shown(context, verb, arguments)
    with History.open(against) as history:
        moment = history.moment(cut)
    show(inner, moment)
