"""`fairshare plan`: what a configuration would have done, on a server's own history."""

from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console

from fairshare.cli.cells import (
    NOTHING,
    change_text,
    duration_text,
    fine_duration_text,
    instant_text,
    short_queue,
)
from fairshare.cli.options import DURATION, STATE_DEFAULT, Whole, print_json, server_state
from fairshare.cli.tables import Cell, Column, Facts, Listing, Part, Styled, open_console, print_all
from fairshare.cli.verbs import INTERRUPTED, Failure
from fairshare.core.model.resources import MEMORY, VCORES
from fairshare.documents.problems import Problem
from fairshare.lab.branch.edits import nodes_of
from fairshare.lab.plan.conditions import OF_QUEUES, Condition, parse_condition, ways
from fairshare.lab.plan.outcomes import Sums
from fairshare.lab.plan.planning import (
    ALL,
    DRAWN,
    Difference,
    Drawn,
    Moved,
    Plan,
    Proposal,
    Reached,
    plan,
)
from fairshare.lab.simulate.world import World
from fairshare.lab.verbs.changes import Changes, changed
from fairshare.lab.verbs.histories import is_traced, read_world, traced_history
from fairshare.lab.verbs.simulated_trace import TraceOptions, refuse, skip_bad
from fairshare.lab.verbs.simulation_watch import Watch
from fairshare.runtime.journal.sqlite import JOURNAL_FILE
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory
from fairshare.settings.linting import lint
from fairshare.settings.reservations import with_reservations
from fairshare.settings.shell import EngineSettings
from fairshare.wording import counted

MOST_SEEDS = 100

OF_TRACES = ("present", "mapping", "limit", "span", "skip_bad")
MOST_CHANGES = 20
MOST_MOVED = 5

COLUMNS = (
    Column("Applications", right=True, extra=True),
    Column("Wait p50", right=True),
    Column("p95", right=True),
    Column("Turnaround", right=True),
    Column("Slowdown", right=True),
    Column("Preempted", right=True),
    Column("Lost", right=True, extra=True),
    Column("Share", right=True),
)
REFUSED = Column("Refused", right=True)
OF_ENTITLEMENT = Column("Entitlement met", right=True)
"""Of queues: users have no fair share."""


def conditions(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[Condition, ...]:
    """Parse `--fail-if`."""
    try:
        return tuple(parse_condition(text) for text in value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def goal_of(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Condition | None:
    """Parse `--goal`."""
    try:
        return None if value is None else parse_condition(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command
@click.argument(
    "conf",
    metavar="[NEW_CONF]",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@changed
@click.option(
    "--against",
    metavar="DIR|TRACE",
    type=click.Path(path_type=Path),
    default=server_state,
    help="The state directory whose history is simulated; its server may be running. Or a trace or"
    f" workload, as for `simulate`. {STATE_DEFAULT}",
)
@click.option(
    "--present",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="For a trace: the configuration to compare the new one with.",
)
@click.option(
    "--map",
    "mapping",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="For a trace: a mapping of its queues and users to queues.",
)
@click.option("--limit", type=Whole(1), help="For a trace: only its first N jobs.")
@click.option("--span", type=DURATION, metavar="TIME", help="For a trace: only its first TIME.")
@skip_bad
@click.option(
    "--last",
    "last_ms",
    type=DURATION,
    help="Only this part of the history, such as 24h or 14d, from the latest state before it"
    " that the journal keeps. [default: the whole history]",
)
@click.option(
    "--seeds",
    type=Whole(2, MOST_SEEDS),
    metavar="N",
    help="Also N other draws of the history, in which each application comes a little earlier or"
    " later: which changes are not due to chance.",
)
@click.option(
    "--goal",
    metavar="CONDITION",
    callback=goal_of,
    help="Search the smallest change that meets this: 'root.prod wait_p95 < 5m'. Tried are a larger"
    " weight or capacity of the queue, and more nodes.",
)
@click.option(
    "--fail-if",
    metavar="CONDITION",
    multiple=True,
    callback=conditions,
    help="Exit with 1 if this condition holds: 'root.prod wait_p95 > +10%', 'all preempted > 20';"
    " repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole answer as JSON.")
def command(
    conf: Path | None,
    changes: Changes,
    against: Path,
    present: Path | None,
    mapping: Path | None,
    limit: int | None,
    span: int | None,
    last_ms: int | None,
    seeds: int | None,
    goal: Condition | None,
    fail_if: tuple[Condition, ...],
    as_json: bool,
) -> None:
    """Simulate a server's history with a new configuration, other nodes, another load or more
    work, and print what changes.

    The first line says how many of the recorded decisions the simulation reproduces with the
    settings that were in force. Run times come from the history; those of containers that were
    preempted, killed or still run are estimated, and counted. Drivers behave as in the history:
    they request and launch at their own pace.

    The history of a trace is its simulation under --present.

    The exit code is 1 if a condition of --fail-if holds, or if the new settings refuse an
    application that was taken.
    """
    if conf is None and not changes.edits() and goal is None:
        raise click.UsageError(
            "Name a configuration directory, or a change: --nodes, --load, --join; or a --goal."
        )
    try:
        with Watch(at_once=True) as watch:
            watch.reads(against if is_traced(against) else against / JOURNAL_FILE)
            if is_traced(against):
                refuse(("last_ms",), f"{against} is a trace: --span takes its first part")
            else:
                refuse(
                    OF_TRACES, f"{against} is not a trace; a server's history has its own settings"
                )
            question = Question(
                conf,
                against,
                changes,
                last_ms,
                present,
                TraceOptions(mapping, limit, span),
                seeds or 0,
                goal,
            )
            outcome = planned(question, watch)
    except KeyboardInterrupt:
        click.echo(
            "Ctrl-C ended it: there is no plan, as a comparison of a part would be misleading",
            err=True,
        )
        raise SystemExit(INTERRUPTED) from None
    failed = [condition for condition in fail_if if _holds(condition, outcome)]
    if as_json:
        print_json(
            {**msgspec.to_builtins(outcome), "failed": [condition.text for condition in failed]}
        )
    else:
        problems = () if conf is None else lint(conf)
        show(open_console(), outcome, problems, last_ms)
    for condition in failed:
        click.echo(f"this holds: {condition.text}", err=True)
    if failed or outcome.refused:
        raise SystemExit(1)


class Question(msgspec.Struct, frozen=True):
    """What is planned: a configuration and further changes, on a server's history, or on a trace
    under the configuration `present`."""

    conf: Path | None
    against: Path
    changes: Changes = Changes()
    last_ms: int | None = None
    present: Path | None = None
    options: TraceOptions = TraceOptions()
    seeds: int = 0
    goal: Condition | None = None


def planned(question: Question, watch: Watch) -> Plan:
    """The answer; raises Failure, and what readers raise."""
    against, traced = question.against, None
    if is_traced(against):
        traced = traced_history(against, question.present, question.options, watch)
        world = traced.world
    else:
        world = read_world(against, question.last_ms)
    conf = question.conf
    configuration = None if conf is None else configuration_for(conf, world)
    beat_ms = None if traced is None else traced.beat_ms
    expiry_ms = None if configuration is None else configuration.container_expiry_ms
    edits, reached = question.changes.edits(), tuple[Reached, ...]()
    changed: Configuration | Proposal | None = configuration
    try:
        if question.goal is not None:
            found = ways(world, question.goal, changed, edits, expiry_ms, beat_ms, watch)
            _, changed, edits = found[0].step
            reached = tuple(way.reached for way in found)
        outcome = plan(world, changed, expiry_ms, beat_ms, watch, edits, question.seeds)
    except ValueError as error:
        raise Failure(str(error)) from None
    ignored = () if configuration is None else _ignored(configuration, world)
    notes = None if traced is None else traced.notes
    return msgspec.structs.replace(outcome, ignored=ignored, trace=notes, goal=reached)


def _ignored(configuration: Configuration, world: World) -> tuple[str, ...]:
    """The settings of machines that are not those of the history: a plan does not follow them."""
    engine, types = configuration.shell.engine, world.types.names
    totals = [node.total for node in nodes_of(world).values()]
    had: dict[str, set[int | None]] = {
        "nodes": {world.nodes, EngineSettings().nodes},
        "memory_mb": {None, *(each[types.index(MEMORY)] for each in totals if MEMORY in types)},
        "vcores": {None, *(each[types.index(VCORES)] for each in totals if VCORES in types)},
    }
    settings = {name: getattr(engine, name) for name in had}
    return tuple(f"{name} = {value}" for name, value in settings.items() if value not in had[name])


def configuration_for(conf: Path, world: World) -> Configuration:
    """The new configuration, as a server of the world's cluster would follow it."""
    configuration = read_directory(conf)
    if configuration.types.names != world.types.names:
        raise Failure(
            f"{conf} has the resource types {', '.join(configuration.types.names)}, and the history"
            f" {', '.join(world.types.names)}: a plan needs the same"
        )
    return with_reservations(configuration, max(1, world.nodes))


def _holds(condition: Condition, found: Plan) -> bool:
    for sums in (found.whole, *found.queues, *found.users):
        if sums.name in (condition.name, f"root.{condition.name}"):
            if sums in found.users and condition.metric in OF_QUEUES:
                raise Failure(
                    f"--fail-if {condition.text!r}: {condition.name!r} is a user, and only queues"
                    f" have a {condition.metric}"
                )
            return condition.holds(sums.before, sums.after)
    raise Failure(
        f"--fail-if {condition.text!r}: no queue and no user of the history is {condition.name!r},"
        f" and it is not {ALL!r}"
    )


# The display.


def show(
    console: Console,
    found: Plan,
    problems: Sequence[Problem],
    last_ms: int | None = None,
) -> None:
    """Print a plan: its proof first. `last_ms` is the part of the history that was requested."""
    for part in first_parts(found):
        console.print(part)
    print_all(console, *further_parts(found, problems, last_ms))


def first_parts(found: Plan) -> list[Styled]:
    """The proof, and what is refused."""
    proof = found.proof
    exact = proof.reproduced == proof.grants
    style = "green" if exact else "yellow"
    proved = Styled(
        f"the settings in force reproduce the history: {proof.reproduced:,} of"
        f" {proof.grants:,} decisions",
        style=style,
    )
    goals = [Styled(f"the goal is met {_reached_text(one)}", style="bold") for one in found.goal]
    refusals = [Styled(_refusals(found), style="bold red")] if found.refused else []
    return [proved, *goals, *refusals]


def _reached_text(reached: Reached) -> str:
    if reached.tried == 0:
        return "without a further change"
    smallest = "" if reached.tried == 1 else f", the smallest of {reached.tried} that were tried"
    return f"by {reached.change}{smallest}"


def further_parts(
    outcome: Plan,
    problems: Sequence[Problem] = (),
    last_ms: int | None = None,
) -> list[Part | None]:
    """What the plan is about, what changes, and for whom."""
    exact = outcome.proof.reproduced == outcome.proof.grants
    pairs: list[tuple[str, Cell]] = [
        (
            "History",
            f"{duration_text(outcome.span_ms)}, {counted(outcome.applications, 'application')},"
            f" {counted(outcome.nodes, 'node')}",
        ),
    ]
    if outcome.trace is None:
        back = f"to {instant_text(outcome.begin_ms)}"
        if last_ms is not None and outcome.span_ms < last_ms:
            back += f": the history has no more of the last {duration_text(last_ms)}"
        pairs.append(("Reaches back", back))
    else:
        pairs += [("Trace", note) for note in outcome.trace]
    notes = []
    if outcome.censored:
        notes.append(f"{counted(outcome.censored, 'run time')} estimated")
    if outcome.begun:
        verb = "was" if outcome.begun == 1 else "were"
        pairs.append(("Begins", f"while {counted(outcome.begun, 'container')} {verb} running"))
    if outcome.drivers:
        verb = "behaves" if outcome.drivers == 1 else "behave"
        notes.append(f"{counted(outcome.drivers, 'master')} {verb} as in the history")
    if outcome.left_out:
        lost = counted(outcome.left_out, "application")
        notes.append(f"without {lost} of masters, which another scheduler cannot take up")
    if not exact and outcome.recorded_heartbeat_interval_ms is None:
        notes.append(
            "the history does not say how often nodes sent heartbeats: the new configuration's"
            " interval is taken for it, and if that has changed, decisions differ"
        )
    if notes:
        pairs.append(("Approximate", "; ".join(notes)))
    pairs += [("Changed", words) for words in outcome.edits]
    if outcome.ignored:
        names = ", ".join(outcome.ignored)
        machines = f"{names}: the machines are the history's, and --nodes changes them"
        pairs.append(("Ignored", machines))
    if outcome.scheduler_before != outcome.scheduler_after:
        pairs.append(("Scheduler", f"{outcome.scheduler_before} → {outcome.scheduler_after}"))
    counts = {kind: sum(one.severity == kind for one in problems) for kind in ("warning", "trap")}
    said = ", ".join(counted(count, kind) for kind, count in counts.items() if count)
    if said:
        pairs.append(("Lint", f"{said}: `fairshare lint` names them"))
    return [
        Facts(pairs),
        Styled(_changes(outcome)) if outcome.scheduler_before == outcome.scheduler_after else None,
        _table("Queue", [outcome.whole, *outcome.queues], refused=bool(outcome.refused)),
        _table("User", outcome.users, refused=bool(outcome.refused)),
        *_draws(outcome),
        Styled(_extremes(outcome))
        if outcome.moved
        else Styled("No application ends at another time."),
        Styled(text, style="bold") if (text := idle_text(outcome)) else None,
    ]


def idle_text(outcome: Plan) -> str:
    """That nothing competed, if that is so: then the plan compares nothing."""
    if any(one.for_room for one in outcome.competed):
        return ""
    used = max(one.used for one in outcome.competed)
    return (
        f"Nothing competed: at most {used:.0%} of the cluster was in use, and nothing had to wait"
        " for room, so that this compares nothing. Take a part of the history with more work."
    )


def _refusals(outcome: Plan) -> str:
    """What the new settings refuse: nothing of it ran, so that all else is about less work."""
    count = sum(refusal.applications for refusal in outcome.refused)
    verb = "is" if count == 1 else "are"
    lines = [
        f"  {refusal.applications:,} of {short_queue(refusal.queue)}: {refusal.reason}"
        for refusal in outcome.refused[:MOST_MOVED]
    ]
    more = len(outcome.refused) - MOST_MOVED
    return "\n".join(
        [
            f"{counted(count, 'application')} of {outcome.applications:,} {verb} refused, and the"
            " times below are those of the others:",
            *lines,
            *([f"  and {counted(more, 'further reason')}"] if more > 0 else []),
        ]
    )


def _changes(outcome: Plan) -> str:
    if not outcome.changes:
        return "No setting changes."
    lines = [
        f"  {one.setting}: {_value(one.before)} → {_value(one.after)}"
        for one in outcome.changes[:MOST_CHANGES]
    ]
    more = len(outcome.changes) - MOST_CHANGES
    return "\n".join(["Settings:", *lines, *([f"  and {more} more"] if more > 0 else [])])


def _value(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _table(title: str, differences: Sequence[Difference], *, refused: bool) -> Listing:
    users = title == "User"
    rows: list[list[Cell]] = []
    for one in differences:
        old, new = one.before, one.after
        name = one.name if users else short_queue(one.name)
        rows.append(
            [
                Styled(name),
                _count(old, new, "applications"),
                *((_count(old, new, "refused"),) if refused else ()),
                _time(old, new, "wait_p50"),
                _time(old, new, "wait_p95"),
                _time(old, new, "turnaround_mean"),
                _ratio(old, new),
                _count(old, new, "preempted"),
                _lost(old, new),
                _part(old, new, "share"),
                *(() if users else (_part(old, new, "share_of_entitlement"),)),
            ]
        )
    first, *others = COLUMNS
    columns = (Column(title), first, *((REFUSED,) if refused else ()), *others)
    return Listing((*columns, *(() if users else (OF_ENTITLEMENT,))), rows)


def _draws(outcome: Plan) -> list[Part]:
    """What several draws of the history say of the changes."""
    if not outcome.draws:
        return []
    by_name: dict[str, dict[str, Drawn]] = {}
    for one in outcome.draws:
        by_name.setdefault(one.name, {})[one.metric] = one
    count = max(one.change.runs for one in outcome.draws)
    columns = [Column(f"In {counted(count, 'draw')}"), Column("p95 changes by", right=True)]
    columns.append(Column("Turnaround changes by", right=True))
    rows: list[list[Cell]] = [
        [short_queue(name), *(_drawn_text(known.get(metric)) for metric in DRAWN)]
        for name, known in sorted(by_name.items(), key=lambda item: (item[0] != ALL, item[0]))
    ]
    return [Listing(columns, rows)]


def _drawn_text(drawn: Drawn | None) -> Styled:
    """`-12s, from -20s to -4s`; dim if it may be due to chance."""
    if drawn is None:
        return Styled(NOTHING)
    change = drawn.change
    if not (change.low or change.mean or change.high):
        return Styled("no change")
    mean, low, high = map(change_text, (change.mean, change.low, change.high))
    text = f"{mean}, from {low} to {high}"
    if not drawn.certain:
        return Styled(f"{text}: may be chance", style="dim")
    return Styled(text, style="red" if change.mean > 0 else "green")


def _pair(old: str, new: str) -> str:
    return new if old == new else f"{old} → {new}"


def _time(old: Sums | None, new: Sums | None, field: str) -> Styled:
    before = None if old is None else getattr(old, field)
    after = None if new is None else getattr(new, field)
    text = _pair(_span(before), _span(after))
    style = ""
    if before is not None and after is not None:
        noticeable = abs(after - before) >= max(100.0, before * 0.05)
        if noticeable:
            style = "red" if after > before else "green"
    return Styled(text, style=style)


def _span(ms: float | None) -> str:
    return NOTHING if ms is None else fine_duration_text(ms)


def _count(old: Sums | None, new: Sums | None, field: str) -> str:
    before = NOTHING if old is None else f"{getattr(old, field):,}"
    after = NOTHING if new is None else f"{getattr(new, field):,}"
    return _pair(before, after)


def _ratio(old: Sums | None, new: Sums | None) -> str:
    def text(found: Sums | None) -> str:
        if found is None or found.slowdown_mean is None:
            return NOTHING
        return f"{found.slowdown_mean:.2f}"

    return _pair(text(old), text(new))


def _lost(old: Sums | None, new: Sums | None) -> str:
    def text(found: Sums | None) -> str:
        return NOTHING if found is None or not found.lost_gb_hours else f"{found.lost_gb_hours:.3f}"

    return _pair(text(old), text(new))


def _part(old: Sums | None, new: Sums | None, field: str) -> str:
    def text(found: Sums | None) -> str:
        part = None if found is None else getattr(found, field)
        return NOTHING if part is None else f"{part:.0%}"

    return _pair(text(old), text(new))


def _extremes(found: Plan) -> str:
    """The applications that lose most, and those that gain most."""
    losers = [one for one in found.moved if one.change_ms > 0][:MOST_MOVED]
    winners = [one for one in reversed(found.moved) if one.change_ms < 0][:MOST_MOVED]
    lines = []
    for title, some in (("Ends later:", losers), ("Ends earlier:", winners)):
        if some:
            lines += [title, *map(_line, some)]
    return "\n".join(lines)


def _line(move: Moved) -> str:
    sign = "+" if move.change_ms > 0 else "-"
    return (
        f"  {move.number} {move.name} ({move.user}, {short_queue(move.queue)}):"
        f" {_span(move.before_ms)} → {_span(move.after_ms)}, {sign}{_span(abs(move.change_ms))}"
    )
