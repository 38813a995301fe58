"""The verb `why`, which explains why an application waits, and what would start it; of a queue what
it is owed, and of a user what all applications wait for."""

import re
from collections.abc import Iterable, Sequence

import click

from fairshare.api import routes
from fairshare.api.applications import Action
from fairshare.cli.cells import amounts_text, duration_text, instant_text
from fairshare.cli.options import json_option, print_json, with_client
from fairshare.cli.orders import named_tasks
from fairshare.cli.tables import Indented, Part, Styled, open_output, print_all
from fairshare.client import Client, Refused
from fairshare.client.answers import Owed, Proved, Reason, Task
from fairshare.client.errors import in_plain_words
from fairshare.client.exchange import path_of
from fairshare.wording import counted, plain

OF_APPLICATION = re.compile(r"(application_\d+_)?\d+(/.*)?")

QUICK_S = 1.0
PATIENCE_S = 25.0
"""How long a proof may take, without and with `--prove`."""

MOST_ASKED = 50
"""The most applications of a user whose reasons are fetched."""


@click.command()
@click.argument("subject", metavar="APP[/TASK]|QUEUE", required=False)
@click.option("--user", metavar="USER", help="Why this user's applications wait, by reason.")
@click.option(
    "--prove",
    is_flag=True,
    help="Of an application: search what starts it, each remedy in a simulation, for longer than"
    " the second that is given to it otherwise.",
)
@with_client
@json_option
def command(
    client: Client, subject: str | None, user: str | None, prove: bool, as_json: bool
) -> None:
    """Explain why an application, a queue or a user waits, and what would help.

    Of an application the most important reason comes first: a limit on the application as a whole,
    then for each group of tasks (or each request of its master) what prevents its next container.
    Of a queue: what it is owed, since when, by which causes, and which queues have it. APP is an id
    or its number alone, with /TASK one task, QUEUE a name. Exits with 0 even if nothing waits.
    """
    if (subject is None) == (user is None) or user == "":
        raise click.UsageError("Name an application, a queue, or --user USER.")
    if prove and not (subject is not None and OF_APPLICATION.fullmatch(subject)):
        raise click.UsageError("--prove is about an application: name one.")
    if prove and as_json:
        application = (subject or "").partition("/")[0]
        print_json(client.connection.get(path_of(routes.PROVE_REMEDIES, application)))
    elif prove:
        _explain_application(client, (subject or "").partition("/")[0], as_json, PATIENCE_S)
    elif user is not None:
        _explain_user(client, user, as_json)
    elif subject is not None and OF_APPLICATION.fullmatch(subject):
        _explain_application(client, subject, as_json)
    elif as_json:
        print_json(client.connection.get(path_of(routes.EXPLAIN_QUEUE, subject or "")))
    else:
        _print_lines(owed_parts(client.owed(subject or "")))


def _explain_application(
    client: Client, application: str, as_json: bool, prove_s: float = QUICK_S
) -> None:
    """The reasons, and what is proved about the first of them within so many seconds."""
    tasks: list[Task] = []
    if "/" in application:
        application, tasks = named_tasks(client, application)
    waiting = {task.group for task in tasks if task.state == "WAITING"}

    def about(group: str | None) -> bool:
        return not tasks or (bool(waiting) and group in (None, *waiting))

    if as_json:
        answer = client.connection.get(path_of(routes.LIST_REASONS, application))
        answer["reasons"] = [reason for reason in answer["reasons"] if about(reason.get("group"))]
        print_json(answer)
        return
    if tasks and not waiting:
        states = ", ".join(f"{task.group}/{task.index} is {task.state}" for task in tasks)
        click.echo(f"It is not waiting: {plain(states)}.")
        return
    reasons = [reason for reason in client.reasons(application) if about(reason.group)]
    if not reasons:
        details = client.application(application)
        if details.state == "REJECTED":
            click.echo(f"It was refused: {in_plain_words(details.diagnostics)}")
        else:
            why = f" {in_plain_words(details.diagnostics)}" if details.diagnostics else ""
            click.echo(f"It is not waiting: it is {details.state}.{why}")
        return
    _print_lines(part for reason in reasons for part in reason_parts(reason))
    if not tasks and prove_s:
        try:
            proved = client.prove(application, within_s=prove_s)
        except Refused:  # it takes longer, or the server does not know how
            if prove_s > QUICK_S:
                raise
            return
        if prove_s > QUICK_S or proved.remedies or proved.starts_after_ms is not None:
            _print_lines(proved_parts(proved))  # what found nothing is not worth a line


def _print_lines(parts: Iterable[Part]) -> None:
    console = open_output()
    for part in parts:
        print_all(console, part)


def proved_parts(proved: Proved) -> list[Part]:
    """The remedies, and what comes if nothing is done."""
    parts: list[Part] = []
    if proved.remedies:
        parts.append(Styled("Sufficient, as a simulation of what follows shows:", style="bold"))
    elif proved.starts_after_ms is None:
        text = "Nothing that was tried starts it" + ("." if proved.complete else " so far.")
        parts.append(Styled(text, style="bold"))
    for remedy in proved.remedies:
        words = _in_order(remedy.actions)
        parts.append(Indented(Styled(plain(f"{words}: {_starts(remedy.starts_after_ms)}.")), 2))
    if proved.starts_after_ms is None:
        span = duration_text(proved.horizon_ms)
        return [*parts, Styled(f"If nothing is done, it does not start within {span}.")]
    basis = "if what runs takes as long as its like took before"
    return [*parts, Styled(f"If nothing is done, {_starts(proved.starts_after_ms)}, {basis}.")]


def _in_order(actions: Sequence[Action]) -> str:
    """Actions one after the other; one reload brings all settings."""
    words = ""
    for before, one in zip((None, *actions), actions, strict=False):
        if before is not None:
            words += " and " if before.setting and one.setting else ", then "
        words += f"{one.words} (`{one.command}`)" if one.command else one.words
    return words


def _starts(after_ms: int) -> str:
    if after_ms < 1_000:
        return "it starts within a second"
    return f"it starts in about {duration_text(after_ms)}"


def reason_parts(reason: Reason) -> list[Part]:
    """What waits, why, and what would end the wait."""
    about = _about(reason)
    said = [(reason.sentence, ""), (reason.remedy, "dim")]
    heading: list[Part] = [Styled(plain(about), style="bold")] if about else []
    return [
        *heading,
        *(Indented(Styled(plain(text), style=style), 2 if about else 0) for text, style in said),
    ]


def _about(reason: Reason) -> str:
    """The subject of a reason: `map: 12 containers of 1G 1c`; empty for the whole application."""
    if not reason.containers:
        return f"{reason.group}:" if reason.group else ""
    waits = counted(reason.containers, "container")
    if reason.wanted:
        waits += f" of {amounts_text(reason.wanted)}"
    return f"{reason.group}: {waits}" if reason.group else waits


def owed_parts(owed: Owed) -> list[Part]:
    """What a queue is owed, with a paragraph for each cause."""
    lines = [owed.sentence]
    if owed.since_ms is not None:
        lines.append(f"That has been so since {instant_text(owed.since_ms)}.")
    if len(owed.holders) > 1:  # the sentence names the first
        holders = ", ".join(
            f"{one.queue} by {_amount_text(one.amount, owed.type)}" for one in owed.holders
        )
        lines.append(f"Above their shares: {holders}.")
    parts: list[Part] = [Styled(plain(" ".join(lines)))]
    for part in owed.parts:
        about = f"{_amount_text(part.amount, owed.type)}: {part.words}"
        if part.applications > 1:
            about += f" ({counted(part.applications, 'application')})"
        parts.append(Styled(plain(about), style="bold"))
        said = [(part.sentence, ""), (part.remedy, "dim")] if part.sentence else []
        if part.first:
            said.insert(0, (f"{part.first}:", ""))
        parts += [Indented(Styled(plain(text), style=style), 2) for text, style in said]
    return parts


def _amount_text(amount: int, name: str) -> str:
    return amounts_text({name: amount})


def _explain_user(client: Client, user: str, as_json: bool) -> None:
    """The reasons of all that a user has waiting, each once, the most frequent first."""
    known = [
        *client.applications(state="PENDING", user=user),
        *client.applications(state="RUNNING", user=user),
    ]
    first: dict[str, Reason] = {}
    names: dict[str, list[str]] = {}
    for application in known[:MOST_ASKED]:
        for reason in client.reasons(application.id):
            first.setdefault(reason.cause, reason)
            names.setdefault(reason.cause, []).append(application.id)
    causes = sorted(names, key=lambda cause: -len(names[cause]))
    if as_json:
        print_json(
            {
                "user": user,
                "applications": len(known),
                "asked": min(len(known), MOST_ASKED),
                "reasons": [
                    {
                        "cause": cause,
                        "applications": list(dict.fromkeys(names[cause])),
                        "sentence": first[cause].sentence,
                        "remedy": first[cause].remedy,
                    }
                    for cause in causes
                ],
            }
        )
        return
    console = open_output()
    if not causes:
        click.echo(f"Nothing of {user}'s waits: {counted(len(known), 'unfinished application')}.")
    for cause in causes:
        waiting = list(dict.fromkeys(names[cause]))
        about = f"{counted(len(waiting), 'application')}, such as {waiting[0]}:"
        print_all(console, Styled(plain(about), style="bold"))
        for text, style in ((first[cause].sentence, ""), (first[cause].remedy, "dim")):
            print_all(console, Indented(Styled(plain(text), style=style), 2))
    if len(known) > MOST_ASKED:
        click.echo(
            f"Of {counted(len(known), 'unfinished application')} these are those of the newest"
            f" {MOST_ASKED}."
        )
