"""`yarn container`: lists, reports and signals containers.

YARN's REST interface only has live containers, and no execution types.
"""

import re
from collections.abc import Sequence

from fairshare.yarn.cli import attempt
from fairshare.yarn.cli.calls import (
    FAILED,
    MANY,
    Call,
    Command,
    Option,
    found_or_missing,
    print_error,
    say,
    say_columns,
    say_report,
)
from fairshare.yarn.cli.documents import NOT_THERE, items, long_date, number_of, whole
from fairshare.yarn.cli.manager import Impossible, ResourceManager, segment

WIDTHS = (30, 20, 20, 20, 20, 20, 35)
HEADERS = (
    "Container-Id",
    "Start Time",
    "Finish Time",
    "State",
    "Host",
    "Node Http Address",
    "LOG-URL",
)
SIGNALS = ("OUTPUT_THREAD_DUMP", "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN")
COMMAND = Command(
    "container",
    Option("list", "Lists the containers of an attempt.", 1, "Application Attempt ID"),
    Option("status", "Prints the status of the container.", 1, "Container ID"),
    Option(
        "signal",
        f"Signals the container: one of {', '.join(SIGNALS)}; the first if none is named.",
        MANY,
        "container ID [signal command]",
    ),
)
_IDENTIFIER = re.compile(r"container_(?:e[0-9]+_)?([0-9]+_[0-9]+)_([0-9]+)_[0-9]+")


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    if "status" in arguments and arguments.only("status"):
        return _report(call.manager, arguments.value("status"))
    if "list" in arguments and arguments.only("list"):
        return _list(call.manager, arguments.value("list"))
    signal = arguments.values("signal")
    if arguments.only("signal") and 1 <= len(signal) <= 2:
        return _signal(call.manager, *signal)
    return COMMAND.wrong_usage(code=0 if arguments.only() else FAILED)


def attempt_of(identifier: str) -> str:
    """The attempt of a container; raises Impossible for an invalid id.

    >>> attempt_of("container_e17_1700000000000_0001_02_000003")
    'appattempt_1700000000000_0001_000002'
    """
    match = _IDENTIFIER.fullmatch(identifier)
    if match is None:
        raise Impossible(
            f"{identifier!r} is no container's id, such as container_1700000000000_0001_01_000001"
        )
    return f"appattempt_{match.group(1)}_{int(match.group(2)):06d}"


def containers_path(of_attempt: str) -> str:
    """The path of an attempt's containers."""
    of_application = attempt.application_of(of_attempt)
    return f"/apps/{segment(of_application)}/appattempts/{segment(of_attempt)}/containers"


def _list(manager: ResourceManager, of_attempt: str) -> int:
    containers = items(manager.get(containers_path(of_attempt)), "container")
    say(f"Total number of containers :{len(containers)}")
    rows = [
        (
            container["containerId"],
            long_date(whole(container.get("startedTime"))),
            long_date(whole(container.get("finishedTime"))),
            container.get("containerState", ""),
            container.get("assignedNodeId", ""),
            container.get("nodeHttpAddress") or NOT_THERE,
            container.get("logUrl", ""),
        )
        for container in sorted(
            containers, key=lambda container: number_of(container["containerId"])
        )
    ]
    return say_columns(WIDTHS, HEADERS, rows)


def _report(manager: ResourceManager, identifier: str) -> int:
    path = f"{containers_path(attempt_of(identifier))}/{segment(identifier)}"
    container = found_or_missing(
        manager,
        path,
        identifier,
        "Container",
        ApplicationNotFound="Application for Container",
        ApplicationAttemptNotFound="Application Attempt for Container",
    )
    if container is None:
        return FAILED
    rows = (
        ("Container-Id", container["containerId"]),
        ("Start-Time", container.get("startedTime", 0)),
        ("Finish-Time", container.get("finishedTime", 0)),
        ("State", container.get("containerState", "")),
        ("Execution-Type", container.get("executionType") or NOT_THERE),
        ("LOG-URL", container.get("logUrl", "")),
        ("Host", container.get("assignedNodeId", "")),
        ("NodeHttpAddress", container.get("nodeHttpAddress") or NOT_THERE),
        ("Diagnostics", container.get("diagnosticsInfo") or ""),
    )
    return say_report("Container", rows)


def _signal(manager: ResourceManager, identifier: str, command: str = SIGNALS[0]) -> int:
    attempt_of(identifier)
    if command not in SIGNALS:
        print_error(f"{command!r} is no signal: {', '.join(SIGNALS)} are")
        return FAILED
    say(f"Signalling container {identifier}")
    manager.post(f"/containers/{segment(identifier)}/signal/{command}")
    return 0
