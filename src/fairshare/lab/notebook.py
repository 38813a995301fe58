"""Simulations, plans and checks as HTML, for notebooks: the tables of their verbs."""

from collections.abc import Sequence
from typing import Any

from fairshare.api.showing import Rows
from fairshare.cli.cells import fine_duration_text
from fairshare.cli.lists import Shown, list_table
from fairshare.cli.notebook import LISTS, PAGE, html_parts
from fairshare.cli.tables import Part, Styled
from fairshare.lab.plan.planning import Plan
from fairshare.lab.scenarios.report import Result, problem_line
from fairshare.lab.simulate.comparison import Comparison
from fairshare.lab.simulate.overviews import (
    groups_overview,
    idle_text,
    moved_overview,
    pairing_sentence,
    runs_overview,
)
from fairshare.lab.simulate.report import Report
from fairshare.lab.verbs.plan import first_parts, further_parts
from fairshare.lab.verbs.simulate import rejections
from fairshare.lab.verbs.simulation_report import overview_table, report_parts
from fairshare.wording import plain

MOST_QUEUES = 40
"""The maximum of queues in the table of a comparison."""


def plan_html(plan: Plan) -> str:
    """A plan, its proof first."""
    return html_parts([*first_parts(plan), *further_parts(plan)])


def report_html(report: Report) -> str:
    """The report of one simulation."""
    rejected = [Styled(plain(line), "bold red") for line in rejections(report, of_trace=False)]
    return html_parts([*rejected, *report_parts(PAGE, report, "to_frame()")])


def comparison_html(comparison: Comparison) -> str:
    """Runs side by side, their queues, and which applications end earlier or later."""
    duration = fine_duration_text
    parts: list[Part | None] = [
        overview_table(runs_overview(comparison.runs, duration)),
        Styled(idle_text(comparison), "bold"),
        overview_table(groups_overview(comparison.runs, "queues", duration, MOST_QUEUES)),
    ]
    for pairing in comparison.pairings:
        sentence = pairing_sentence(pairing, duration)
        moved = moved_overview(pairing, duration)
        parts.append(Styled(f"{plain(pairing.run)}: {sentence}"))
        parts.append(overview_table(moved) if moved.rows else None)
    return html_parts(parts)


def _checked(results: Rows[Any]) -> Sequence[Part | None]:
    columns: tuple[Shown[Result], ...] = (
        Shown("Result", of=lambda result: Styled(result.result, COLOURS[result.result])),
        Shown("File", of=lambda result: result.file),
        Shown("Scenario", of=lambda result: result.name),
        Shown("Checks", right=True, of=lambda result: result.checks),
    )
    problems: list[Part] = []
    for result in results:
        problems += [Styled(plain(problem_line(result.file, each))) for each in result.problems]
        problems += [Styled(plain(line), "dim") for line in result.picture]
    return [list_table(columns, results), *problems]


COLOURS = {"passed": "green", "failed": "red", "skipped": "dim"}

LISTS[Result] = _checked
