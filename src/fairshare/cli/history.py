"""Owns the verb `history`: applications and containers that ended, of months."""

from typing import Any

import click
from rich.text import Text

from fairshare.api.accounting import PastApplication, PastContainer
from fairshare.cli.cells import NOTHING, duration_text, memory_text, short_queue
from fairshare.cli.lists import print_list
from fairshare.cli.moments import moment_text
from fairshare.cli.options import Whole, with_client
from fairshare.cli.past import filter_options, percent
from fairshare.cli.tables import Column, state_text
from fairshare.client import Client

DEFAULT_LIMIT = 100
MOST = 100_000

APPLICATION_COLUMNS = (
    Column("Application", whole=True),
    Column("User"),
    Column("Queue"),
    Column("Name"),
    Column("State", whole=True),
    Column("Exit", right=True, whole=True),
    Column("Ended", whole=True),
    Column("Time", right=True, whole=True),
    Column("Peak", right=True, whole=True),
    Column("CPU", right=True, whole=True, extra=True),
    Column("CPU eff.", right=True, whole=True, extra=True),
    Column("Mem. eff.", right=True, whole=True, extra=True),
    Column("Nodes", extra=True),
)
CONTAINER_COLUMNS = (
    Column("Container", whole=True),
    Column("User"),
    Column("Task"),
    Column("Node"),
    Column("Outcome", whole=True),
    Column("Exit", right=True, whole=True),
    Column("Ended", whole=True),
    Column("Time", right=True, whole=True),
    Column("Memory", right=True, whole=True, extra=True),
    Column("Peak", right=True, whole=True),
    Column("CPU", right=True, whole=True, extra=True),
)


@click.command()
@click.argument("application", metavar="[APP]", required=False)
@click.option("--containers", is_flag=True, help="List containers instead of applications.")
@click.option("--limit", metavar="N", type=Whole(1, MOST), help="Only the latest N. [default: 100]")
@filter_options
@with_client
def command(
    client: Client,
    application: str | None,
    containers: bool,
    limit: int | None,
    filters: dict[str, Any],
    form: str,
) -> None:
    """List ended applications of the last months, latest first, including those that `apps` no
    longer knows.

    Time is from the start to the end. Efficiency is CPU time divided by the time of the allocated
    vcores, and peak memory divided by the allocated memory. WHEN is a date (2026-11-23), a time,
    yesterday, or an age (7d).
    """
    narrowed = filters["since_ms"] is not None or application is not None
    chosen = limit or (MOST if narrowed else DEFAULT_LIMIT)
    if containers:
        found = client.past_containers(application=application, limit=chosen, **filters)
        print_list(
            form,
            found.containers,
            PastContainer,
            CONTAINER_COLUMNS,
            container_cells,
            answer=lambda: found,
            nothing="No such container.",
        )
        more = found.more
    else:
        ended = client.history(application=application, limit=chosen, **filters)
        print_list(
            form,
            ended.applications,
            PastApplication,
            APPLICATION_COLUMNS,
            application_cells,
            answer=lambda: ended,
            nothing="No such application.",
        )
        more = ended.more
    if more and limit is None:
        click.echo(f"These are the last {chosen}: --limit N or --since shows more.", err=True)


def application_cells(one: PastApplication) -> list[str | Text]:
    """The row of an application."""
    began_ms = one.started_ms or one.submitted_ms
    return [
        one.id,
        one.user,
        short_queue(one.queue),
        one.name,
        state_text(one.state),
        NOTHING if one.exit_code is None else str(one.exit_code),
        moment_text(one.ended_ms),
        duration_text(one.ended_ms - began_ms),
        memory_text(one.peak_memory_mb) if one.peak_memory_mb else NOTHING,
        duration_text(round(one.cpu_seconds * 1_000)),
        percent(one.cpu_efficiency),
        percent(one.memory_efficiency),
        ", ".join(one.nodes),
    ]


def container_cells(one: PastContainer) -> list[str | Text]:
    """The row of a container."""
    task = f"{one.group}/{one.task}" if one.task is not None else ""
    return [
        one.id,
        one.user,
        task or ("driver" if one.master else NOTHING),
        one.node,
        one.outcome,
        str(one.exit_code),
        moment_text(one.ended_ms),
        duration_text(one.ended_ms - (one.started_ms or one.allocated_ms)),
        memory_text(one.memory_mb),
        memory_text(one.peak_memory_mb) if one.peak_memory_mb else NOTHING,
        duration_text(round(one.cpu_seconds * 1_000)),
    ]
