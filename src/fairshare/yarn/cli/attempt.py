"""`yarn applicationattempt`: lists and reports an application's attempts."""

import re
from collections.abc import Sequence

from fairshare.yarn.cli import application
from fairshare.yarn.cli.calls import (
    FAILED,
    Call,
    Command,
    Option,
    found_or_missing,
    say,
    say_columns,
    say_report,
)
from fairshare.yarn.cli.documents import NOT_THERE, items, number_of
from fairshare.yarn.cli.manager import Impossible, ResourceManager, segment

WIDTHS = (30, 20, 35, 35)
HEADERS = ("ApplicationAttempt-Id", "State", "AM-Container-Id", "Tracking-URL")
COMMAND = Command(
    "applicationattempt",
    Option("list", "Lists the attempts of an application.", 1, "Application ID"),
    Option("status", "Prints the status of the attempt.", 1, "Application Attempt ID"),
    Option("fail", "Refused: REST cannot fail an attempt.", 1, "Application Attempt ID"),
)
_IDENTIFIER = re.compile(r"appattempt_([0-9]+_[0-9]+)_[0-9]+")


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    if "status" in arguments and arguments.only("status"):
        return _report(call.manager, arguments.value("status"))
    if "list" in arguments and arguments.only("list"):
        return _list(call.manager, arguments.value("list"))
    if "fail" in arguments:
        application_of(arguments.value("fail"))
        raise Impossible(
            "REST cannot fail an attempt; to end its master, signal the container that"
            " `applicationattempt -status` names AMContainer:"
            " `container -signal CONTAINER FORCEFUL_SHUTDOWN`"
        )
    return COMMAND.wrong_usage(code=FAILED if ("status" in arguments or "list" in arguments) else 0)


def application_of(identifier: str) -> str:
    """The application of an attempt; raises Impossible for an invalid id."""
    match = _IDENTIFIER.fullmatch(identifier)
    if match is None:
        raise Impossible(
            f"{identifier!r} is not an attempt's id, such as appattempt_1700000000000_0001_000001"
        )
    return f"application_{match.group(1)}"


def _path(identifier: str) -> str:
    return f"/apps/{segment(application_of(identifier))}/appattempts/{segment(identifier)}"


def _list(manager: ResourceManager, identifier: str) -> int:
    application.existing(manager, identifier)
    answer = manager.get(f"/apps/{segment(identifier)}/appattempts")
    known = items(answer, "appAttempts", "appAttempt")
    # The list has Hadoop's internal states and no tracking URL; single attempts have all fields.
    attempts = [manager.get(_path(attempt["appAttemptId"])) for attempt in known]
    say(f"Total number of application attempts :{len(attempts)}")
    rows = [
        (
            attempt["appAttemptId"],
            attempt.get("appAttemptState", ""),
            attempt.get("amContainerId") or NOT_THERE,
            attempt.get("trackingUrl") or NOT_THERE,
        )
        for attempt in sorted(attempts, key=lambda attempt: number_of(attempt["appAttemptId"]))
    ]
    return say_columns(WIDTHS, HEADERS, rows)


def _report(manager: ResourceManager, identifier: str) -> int:
    attempt = found_or_missing(
        manager,
        _path(identifier),
        identifier,
        "Application Attempt",
        ApplicationNotFound="Application for AppAttempt",
    )
    if attempt is None:
        return FAILED
    rows = (
        ("ApplicationAttempt-Id", attempt["appAttemptId"]),
        ("State", attempt.get("appAttemptState", "")),
        ("AMContainer", attempt.get("amContainerId") or NOT_THERE),
        ("Tracking-URL", attempt.get("trackingUrl") or NOT_THERE),
        ("RPC Port", attempt.get("rpcPort", -1)),
        ("AM Host", attempt.get("host") or NOT_THERE),
        ("Diagnostics", attempt.get("diagnosticsInfo", "")),
    )
    return say_report("Application Attempt", rows)
