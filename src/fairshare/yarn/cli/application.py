"""`yarn application`: lists, reports, kills, moves and changes applications.

Texts, columns and exit codes are those of Hadoop 3.4's ApplicationCLI. Lists have the tracking
URL of the ResourceManager's proxy, reports the master's own tracking URL.
"""

import re
import time
from collections.abc import Sequence
from datetime import datetime

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.yarn.cli.calls import (
    FAILED,
    MANY,
    Arguments,
    Call,
    Command,
    Option,
    print_error,
    say,
    say_columns,
    say_report,
)
from fairshare.yarn.cli.documents import (
    NOT_THERE,
    Fields,
    entries,
    iso_date,
    items,
    number_of,
    percentage,
    whole,
)
from fairshare.yarn.cli.manager import (
    ACCEPTED,
    NOT_FOUND,
    Impossible,
    RemoteRefusal,
    ResourceManager,
    segment,
)

WIDTHS = (30, 20, 20, 10, 10, 18, 18, 15, 35)
HEADERS = (
    "Application-Id",
    "Application-Name",
    "Application-Type",
    "User",
    "Queue",
    "State",
    "Final-State",
    "Progress",
    "Tracking-URL",
)
OVER = ("FINISHED", "FAILED", "KILLED")
_USUAL = ("SUBMITTED", "ACCEPTED", "RUNNING")
_PACE_S = 0.2
_IDENTIFIER = re.compile(r"application_[0-9]+_[0-9]+")

_SERVICE = (
    *("launch", "start", "stop", "save", "destroy", "flex", "component", "enableFastLaunch"),
    *("upgrade", "initiate", "instances", "components", "finalize", "autoFinalize", "express"),
    *("cancel", "decommission", "version", "states"),
)
COMMAND = Command(
    "application",
    Option("list", "Lists applications; -appTypes, -appStates and -appTags filter them."),
    Option("appTypes", "With -list: only these types.", MANY, "Types", commas=True),
    Option("appStates", "With -list: only these states, or ALL.", MANY, "States", commas=True),
    Option("appTags", "With -list: only with one of these tags.", MANY, "Tags", commas=True),
    Option("status", "Prints the status of the application.", 1, "Application ID"),
    Option("kill", "Kills the applications.", MANY, "Application ID"),
    Option("movetoqueue", "Moves the application to -queue.", 1, "Application ID"),
    Option("queue", "With -movetoqueue: the target queue.", 1, "Queue Name"),
    Option("changeQueue", "Moves the application of -appId to this queue.", 1, "Queue Name"),
    Option("updatePriority", "Changes the priority of -appId.", 1, "Priority"),
    Option("updateLifetime", "Sets the end of -appId, in seconds from now.", 1, "Timeout"),
    Option("appId", "The application to change.", 1, "Application ID"),
)


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    service = [word for word in words if word.lstrip("-") in _SERVICE and word.startswith("-")]
    if service:
        raise Impossible(
            f"{service[0]} belongs to YARN services, which no ResourceManager runs by itself:"
            " `fairshare submit` starts applications here"
        )
    arguments = COMMAND.arguments(words)
    if "status" in arguments:
        if not arguments.only("status", "appTypes"):
            return COMMAND.wrong_usage()
        return _report(call.manager, arguments.value("status"))
    if "list" in arguments:
        return _list(call, arguments)
    if "kill" in arguments:
        return _kill(call, arguments.values("kill"))
    if "movetoqueue" in arguments and "queue" in arguments:
        return _move(call.manager, arguments.value("movetoqueue"), arguments.value("queue"))
    if "appId" not in arguments:
        changes = ("movetoqueue", "changeQueue", "updatePriority", "updateLifetime")
        return COMMAND.wrong_usage(code=FAILED if any(c in arguments for c in changes) else 0)
    return _change(call.manager, arguments)


def _change(manager: ResourceManager, arguments: Arguments) -> int:
    identifier = arguments.value("appId")
    if "changeQueue" in arguments:
        return _move(manager, identifier, arguments.value("changeQueue"))
    for name, change in (("updatePriority", _prioritize), ("updateLifetime", _limit)):
        if name in arguments:
            try:
                number = int(arguments.value(name))
            except ValueError:
                return COMMAND.wrong_usage(
                    f"-{name} {arguments.value(name)}: a whole number is needed"
                )
            return change(manager, identifier, number)
    return COMMAND.wrong_usage()


def _list(call: Call, arguments: Arguments) -> int:
    states = [state.upper() for state in arguments.values("appStates")]
    unknown = [state for state in states if state not in (*APPLICATION_STATES, "ALL")]
    if unknown and "ALL" not in states:
        say(f"The application state {unknown[0]} is invalid.")
        known = ",".join(("ALL", *APPLICATION_STATES))
        say(f"The valid application state can be one of the following: {known}")
        return FAILED
    wanted = APPLICATION_STATES if "ALL" in states else states or _USUAL
    chosen = tuple(state for state in APPLICATION_STATES if state in wanted)
    types = tuple(dict.fromkeys(kind.upper() for kind in arguments.values("appTypes")))
    tags = tuple(dict.fromkeys(arguments.values("appTags")))
    parameters = {"states": ",".join(chosen), "deSelects": "resourceRequests"}
    if types:
        parameters["applicationTypes"] = ",".join(types)
    if tags:
        parameters["applicationTags"] = ",".join(tags)
    applications = items(call.manager.get("/apps", **parameters), "apps", "app")
    say(
        f"Total number of applications (application-types: {_names(types)}, states:"
        f" {_names(chosen)} and tags: {_names(tags)}):{len(applications)}"
    )
    ordered = sorted(applications, key=lambda one: number_of(one["id"]))
    return say_columns(WIDTHS, HEADERS, map(_row, ordered))


def _names(words: Sequence[str]) -> str:
    return f"[{', '.join(words)}]"


def _row(one: Fields) -> tuple[object, ...]:
    fields = ("id", "name", "applicationType", "user", "queue", "state", "finalStatus")
    address = one.get("trackingUrl") or NOT_THERE
    return (*(one.get(f, "") for f in fields), percentage(one.get("progress") or 0.0), address)


def find(manager: ResourceManager, identifier: str) -> Fields | None:
    """One application; None if it does not exist. Raises Impossible for an invalid identifier."""
    if not _IDENTIFIER.fullmatch(identifier):
        raise Impossible(
            f"{identifier!r} is not an application's id, such as application_1700000000000_0001"
            " (names belong to YARN services, which are not here)"
        )
    try:
        application: Fields = manager.get(f"/apps/{segment(identifier)}")["app"]
    except RemoteRefusal as refusal:
        if refusal.status == NOT_FOUND:
            return None
        raise
    return application


def _report(manager: ResourceManager, identifier: str) -> int:
    application = find(manager, identifier)
    if application is None:
        say(f"Application with id '{identifier}' doesn't exist in RM or Timeline Server.")
        return FAILED
    attempt = _last_attempt(manager, identifier)
    address = attempt.get("originalTrackingUrl") or application.get("trackingUrl") or NOT_THERE
    rows = (
        ("Application-Id", application["id"]),
        ("Application-Name", application.get("name", "")),
        ("Application-Type", application.get("applicationType", "")),
        ("User", application.get("user", "")),
        ("Queue", application.get("queue", "")),
        ("Application Priority", application.get("priority", 0)),
        ("Start-Time", application.get("startedTime", 0)),
        ("Finish-Time", application.get("finishedTime", 0)),
        ("Progress", percentage(application.get("progress") or 0.0)),
        ("State", application.get("state", "")),
        ("Final-State", application.get("finalStatus", "")),
        ("Tracking-URL", address),
        ("RPC Port", attempt.get("rpcPort", -1)),
        ("AM Host", attempt.get("host") or NOT_THERE),
        ("Aggregate Resource Allocation", _seconds(application, "")),
        ("Aggregate Resource Preempted", _seconds(application, "preempted")),
        ("Log Aggregation Status", application.get("logAggregationStatus") or NOT_THERE),
        ("Diagnostics", application.get("diagnostics", "")),
        ("Unmanaged Application", str(bool(application.get("unmanagedApplication"))).lower()),
        (
            "Application Node Label Expression",
            application.get("appNodeLabelExpression") or "<Not set>",
        ),
        (
            "AM container Node Label Expression",
            application.get("amNodeLabelExpression") or "<DEFAULT_PARTITION>",
        ),
    )
    say_report("Application", rows)
    for timeout in items(application, "timeouts", "timeout"):
        say(
            f"\tTimeoutType : {timeout['type']}\tExpiryTime : {timeout['expiryTime']}"
            f"\tRemainingTime : {timeout['remainingTimeInSeconds']}seconds"
        )
    if application.get("rmClusterId"):
        say(f"\tRMClusterId : {application['rmClusterId']}")
    say()
    return 0


def _last_attempt(manager: ResourceManager, identifier: str) -> Fields:
    """The current or last attempt; empty if there is none, or the user has no access to it."""
    path = f"/apps/{segment(identifier)}/appattempts"
    known = items(manager.get(path), "appAttempts", "appAttempt")
    if not known:
        return {}
    last = max(known, key=lambda one: number_of(one["appAttemptId"]))
    try:
        found: Fields = manager.get(f"{path}/{segment(last['appAttemptId'])}")
    except RemoteRefusal:
        return {}
    return found


def _seconds(found: Fields, prefix: str) -> str:
    """Amounts times seconds: memory, cores, then further types by name."""
    names = ("memorySeconds", "vcoreSeconds", "resourceSecondsMap")
    if prefix:
        names = ("preemptedMemorySeconds", "preemptedVcoreSeconds", "preemptedResourceSecondsMap")
    memory, cores, all_types = (found.get(name) for name in names)
    further = entries(all_types)
    return ", ".join(
        [
            f"{memory or 0} MB-seconds",
            f"{cores or 0} vcore-seconds",
            *(
                f"{further[name]} {name}-seconds"
                for name in sorted(further)
                if name not in ("memory-mb", "vcores")
            ),
        ]
    )


def _kill(call: Call, identifiers: Sequence[str]) -> int:
    """Kill each application; returns 0 if at least one of them exists."""
    code = FAILED
    for identifier in identifiers:
        application = find(call.manager, identifier)
        if application is None:
            say(f"Application with id '{identifier}' doesn't exist in RM.")
            continue
        code = 0
        if application["state"] in OVER:
            say(f"Application {identifier} has already finished ")
            continue
        say(f"Killing application {identifier}")
        path = f"/apps/{segment(identifier)}/state"
        while call.manager.put(path, {"state": "KILLED"}).status_code == ACCEPTED:
            call.sleep(_PACE_S)
        print_error(f"Killed application {identifier}")
    return code


def _move(manager: ResourceManager, identifier: str, queue: str) -> int:
    found = existing(manager, identifier)
    if found["state"] in OVER:
        say(f"Application {identifier} has already finished ")
        return 0
    say(f"Moving application {identifier} to queue {queue}")
    manager.put(f"/apps/{segment(identifier)}/queue", {"queue": queue})
    say("Successfully completed move.")
    return 0


def existing(manager: ResourceManager, identifier: str) -> Fields:
    """An application; raises RemoteRefusal if it does not exist."""
    application = find(manager, identifier)
    if application is None:
        raise RemoteRefusal(
            NOT_FOUND,
            "ApplicationNotFoundException",
            f"Application with id '{identifier}' doesn't exist in RM.",
        )
    return application


def _prioritize(manager: ResourceManager, identifier: str, priority: int) -> int:
    existing(manager, identifier)
    say(f"Updating priority of an application {identifier}")
    answer = manager.put(f"/apps/{segment(identifier)}/priority", {"priority": priority})
    if whole(answer.json().get("priority"), priority - 1) == priority:
        say(f"Successfully updated the application {identifier} with priority '{priority}'")
    else:
        say(
            f"Updated priority of an application  {identifier} to cluster max priority OR keeping"
            " old priority as application is in final states"
        )
    return 0


def _limit(manager: ResourceManager, identifier: str, seconds: int) -> int:
    existing(manager, identifier)
    wanted_ms = time.time_ns() // 1_000_000 + seconds * 1000
    say(f"Updating timeout for given timeoutType: LIFETIME of an application {identifier}")
    timeout = {"type": "LIFETIME", "expiryTime": iso_date(wanted_ms)}
    answer = manager.put(f"/apps/{segment(identifier)}/timeout", {"timeout": timeout})
    expires = str(answer.json()["timeout"]["expiryTime"])
    if same_instant(expires, timeout["expiryTime"]):
        say(
            f"Successfully updated LIFETIME of an application {identifier}."
            f" New expiry time is {expires}"
        )
    else:
        say(
            f"Updated lifetime of an application  {identifier} to queue max/default lifetime."
            f" New expiry time is {expires}"
        )
    return 0


def same_instant(instant: str, other: str) -> bool:
    """Whether two timeout dates are the same instant, to the second, in any time zones."""
    if "UNLIMITED" in (instant, other):
        return instant == other
    first, second = datetime.fromisoformat(instant), datetime.fromisoformat(other)
    return abs((first - second).total_seconds()) < 1
