"""The verb `reserve`: bookings of resources for a deadline or a course."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import click
from msgspec import to_builtins

from fairshare.api.bookings import Booking
from fairshare.cli.cells import amounts_text, short_queue
from fairshare.cli.instants import moment_text, parse_instant_ms
from fairshare.cli.lists import JSON, Shown, list_options, print_list
from fairshare.cli.options import MEMORY, Whole, checked, print_json, with_client
from fairshare.cli.units import parse_amount
from fairshare.client import Client
from fairshare.documents.gpus import GPU
from fairshare.errors import InputError
from fairshare.wording import counted

_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOST: Final = 1_000
"""Of times, so that a typing error does not make millions; the server allows fewer."""

COLUMNS: Final[tuple[Shown[Booking], ...]] = (
    Shown("Name", whole=True, of=lambda one: one.name),
    Shown("Queue", of=lambda one: short_queue(one.queue)),
    Shown("User", of=lambda one: one.holder or None),
    Shown("Resources", whole=True, of=lambda one: amounts_text(one.resources)),
    Shown("State", whole=True, of=lambda one: one.state),
    Shown("From", whole=True, of=lambda one: moment_text(one.spans[0].from_ms)),
    Shown("Until", whole=True, of=lambda one: moment_text(one.spans[0].until_ms)),
    Shown("Times", right=True, whole=True, of=lambda one: len(one.spans)),
    Shown("Used", whole=True, extra=True, of=lambda one: amounts_text(one.used)),
    Shown("Not sure", extra=True, of=lambda one: amounts_text(one.missing) if one.missing else ""),
    Shown("Made by", extra=True, of=lambda one: one.made_by or None),
)


@click.command("reserve")
@click.argument("name", required=False)
@click.option(
    "--for", "queue", metavar="QUEUE", help="The queue that gets the resources, with all below it."
)
@click.option(
    "--user", "holder", metavar="U", help="Only this user, in that queue, which is a leaf."
)
@click.option("--gpus", type=Whole(0), help="GPUs: the same as --resource yarn.io/gpu=N.")
@click.option("--cpus", "--vcores", type=Whole(0), help="Vcores.")
@click.option("--memory", type=MEMORY, help="512m, 1g, or MB.")
@click.option(
    "--resource",
    "further",
    type=checked(parse_amount),
    metavar="R=N",
    multiple=True,
    help="Another resource type, such as yarn.io/fpga=1.",
)
@click.option(
    "--from",
    "start",
    metavar="T",
    help="When it begins: 22:30, 2026-12-01T10:00 or +2h. [default: now]",
)
@click.option(
    "--until",
    "end",
    metavar="T",
    help="When it ends: the same; a clock time is the next one after the beginning, +2h"
    " counts from there.",
)
@click.option(
    "--weekly-until",
    "weekly",
    metavar="DAY",
    help="The same time each week until this day, by the clock of your machine.",
)
@click.option(
    "--daily-until",
    "daily",
    metavar="DAY",
    help="The same time each day until this day, by the clock of your machine.",
)
@click.option(
    "--change",
    is_flag=True,
    help="Change a booking: what is not given stays; --gpus 0 takes them away.",
)
@click.option("--cancel", is_flag=True, help="Cancel a booking.")
@with_client
@list_options
def command(
    client: Client, form: str, name: str | None, change: bool, cancel: bool, **options: object
) -> None:
    """Promise resources to a queue for a deadline or a course; without arguments, list bookings.

    \b
    fairshare reserve --gpus 4 --from 22:00 --until +10h --for vision
    fairshare reserve course --cpus 16 --memory 64g --for teaching \\
        --from 2026-12-01T10:00 --until 12:00 --weekly-until 2027-02-12
    fairshare reserve course --change --gpus 2
    fairshare reserve course --cancel

    For administrators. A booking is planned against others and against the nodes that are not
    drained. Without NAME it is named after its queue and day.
    """
    details = {key: value for key, value in options.items() if value not in (None, ())}
    if cancel:
        if not name or change or details:
            raise click.UsageError("--cancel needs the name of a booking, and nothing else")
        _print(form, client.cancel_booking(name), "cancelled")
    elif change:
        if not name or not details:
            raise click.UsageError("--change needs the name of a booking, and what to change")
        _print(form, _changed(client, name, details), "changed")
    elif name or details:
        _print(form, _made(client, name, details), "booked")
    else:
        answer = client.bookings()
        print_list(
            form,
            answer.bookings,
            Booking,
            COLUMNS,
            answer=lambda: answer,
            nothing="Nothing is booked.",
        )


def _made(client: Client, name: str | None, options: dict[str, Any]) -> Booking:
    resources = _resources(options)
    for flag, there in (
        ("--for", "queue" in options),
        ("--until", "end" in options),
        ("--gpus, --cpus, --memory or --resource", bool(resources)),
    ):
        if not there:
            raise click.UsageError(
                f"a booking needs {flag}; `fairshare reserve` alone lists what is booked"
            )
    spans = _spans(options, None)
    if name is None:
        begin_ms = spans[0][0] or parse_instant_ms("+0s")
        day = datetime.fromtimestamp(begin_ms / 1_000, UTC).astimezone()
        name = f"{options['queue'].rpartition('.')[2]}-{day:%Y-%m-%d}"
    return client.make_booking(
        name, options["queue"], resources, spans, holder=options.get("holder")
    )


def _changed(client: Client, name: str, options: dict[str, Any]) -> Booking:
    before = next((one for one in client.bookings().bookings if one.name == name), None)
    if before is None:
        raise InputError("unknown-booking", f"there is no booking {name!r}")
    spans = [(span.from_ms, span.until_ms) for span in before.spans]
    resources = before.resources | _resources(options)
    if "end" in options:
        if len(spans) > 1 and not options.keys() & {"weekly", "daily"}:
            raise click.UsageError(
                f"{name} has {counted(len(spans), 'time')}, of which one would be left: give"
                " --weekly-until or --daily-until, too, or cancel it and book again"
            )
        spans = _spans(options, spans[0][0])
    elif options.keys() & {"start", "weekly", "daily"}:
        raise click.UsageError("to change its times, give --until, too")
    return client.make_booking(
        name,
        options.get("queue", before.queue),
        {name: amount for name, amount in resources.items() if amount},
        spans,
        holder=options.get("holder", before.holder or None),
        replace=True,
    )


def _resources(options: dict[str, Any]) -> dict[str, int]:
    sizes = {
        "memory-mb": options.get("memory"),
        "vcores": options.get("cpus"),
        GPU: options.get("gpus"),
        **dict(options.get("further", ())),
    }
    return {name: amount for name, amount in sizes.items() if amount is not None}


def _spans(options: dict[str, Any], start_ms: int | None) -> list[tuple[int, int]]:
    """The times of a booking, of days of this machine's time zone; 0 is now."""
    try:
        if "start" in options:
            start_ms = parse_instant_ms(options["start"])
        until_ms = parse_instant_ms(options["end"], start_ms)
        days = 7 if "weekly" in options else 1
        last = options.get("weekly", options.get("daily"))
        if last is None:
            return [(start_ms or 0, until_ms)]
        if {"weekly", "daily"} <= options.keys():
            raise ValueError("give --weekly-until or --daily-until, not both")
        last_ms = parse_instant_ms(last)
        if re.fullmatch(_DAY, last.strip()):
            last_ms += 86_400_000  # that day, too
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if start_ms is None:
        start_ms = parse_instant_ms("+0s")
    # The calendar and clock of this machine, to which days are added as on a wall.
    begin, end = (
        datetime.fromtimestamp(at_ms / 1_000, UTC).astimezone().replace(tzinfo=None)
        for at_ms in (start_ms, until_ms)
    )
    spans: list[tuple[int, int]] = []
    with suppress(OverflowError, ValueError):  # the calendar ends
        while len(spans) < _MOST:
            later = timedelta(days=days * len(spans))
            span = _ms(begin + later), _ms(end + later)
            if span[0] >= last_ms:
                break
            spans.append(span)
    if not spans:
        raise click.UsageError(f"it begins after its last day, {last}")
    return spans


def _ms(local: datetime) -> int:
    return round(local.astimezone().timestamp() * 1_000)


def _print(form: str, booking: Booking, what: str) -> None:
    if form == JSON:
        print_json(to_builtins(booking))
        return
    first = booking.spans[0]
    more = len(booking.spans) - 1
    whose = f"{booking.holder} in {booking.queue}" if booking.holder else booking.queue
    click.echo(
        f"{booking.name}: {what}, {amounts_text(booking.resources)} for {whose} from"
        f" {moment_text(first.from_ms)} until {moment_text(first.until_ms)}"
        + (f", and {counted(more, 'more time')}" if more else "")
    )
    if booking.missing and what != "cancelled":
        click.echo(
            f"Not sure to be free at the start: {amounts_text(booking.missing)}, which tasks use"
            " that have no time limit which ends by then.",
            err=True,
        )
