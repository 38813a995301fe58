"""`yarn top`: the cluster and its applications, refreshed periodically.

On a terminal until Ctrl-C; in a pipe, or with `-once`, printed once.
"""

import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import click

from fairshare.wording import plain
from fairshare.yarn.cli.calls import MANY, Call, Command, Option
from fairshare.yarn.cli.documents import Fields, items, number_of

COMMAND = Command(
    "yarn top",
    Option("cols", "The width in characters.", 1, "arg"),
    Option("rows", "The number of applications.", 1, "arg"),
    Option("delay", "The refresh interval in seconds (3).", 1, "arg"),
    Option("queues", "Only these queues.", MANY, "arg", commas=True),
    Option("users", "Only these users.", MANY, "arg", commas=True),
    Option("types", "Only these types.", MANY, "arg", commas=True),
    Option("once", "Prints once."),
)
_COLUMNS = (
    ("APPLICATIONID", 32, "id"),
    ("USER", -11, "user"),
    ("TYPE", 11, "applicationType"),
    ("QUEUE", 20, "queue"),
    ("PRIOR", 6, "priority"),
    ("#CONT", 6, "runningContainers"),
    ("VCORES", 7, "allocatedVCores"),
    ("RVCORES", 8, "reservedVCores"),
    ("MEM", 7, "allocatedMB"),
    ("RMEM", 7, "reservedMB"),
    ("VCORESECS", 10, "vcoreSeconds"),
    ("MEMSECS", 12, "memorySeconds"),
    ("%PROGR", 7, "progress"),
    ("TIME", 12, "elapsedTime"),
    ("NAME", -30, "name"),
)
_CLEAR = "\x1b[H\x1b[2J"


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    numbers = {}
    for name, default in (("cols", 0), ("rows", 0), ("delay", 3)):
        text = arguments.value(name) if name in arguments else str(default)
        if not text.isdigit() or (name == "delay" and text == "0"):
            return COMMAND.wrong_usage(f"-{name} {text}: a whole number is needed")
        numbers[name] = int(text)
    chosen = {name: arguments.values(name) for name in ("queues", "users", "types")}
    once = "once" in arguments or not sys.stdout.isatty()
    while True:
        lines = picture(call, chosen, numbers["rows"])
        width = numbers["cols"]
        text = "\n".join(line[:width] if width else line for line in lines)
        click.echo(text if once else _CLEAR + text)
        if once:
            return 0
        call.sleep(numbers["delay"])


def picture(call: Call, chosen: dict[str, tuple[str, ...]], rows: int) -> list[str]:
    """The lines of one screen, with the running applications, the largest first."""
    manager = call.manager
    info = manager.get("/info")["clusterInfo"]
    metrics: Fields = manager.get("/metrics")["clusterMetrics"]
    parameters = {"states": "RUNNING", "deSelects": "resourceRequests"}
    if chosen["types"]:
        parameters["applicationTypes"] = ",".join(chosen["types"])
    running = items(manager.get("/apps", **parameters), "apps", "app")
    shown = [one for one in running if _is_chosen(one, chosen)]
    shown.sort(key=lambda one: (-one["allocatedMB"], number_of(one["id"])))
    lines = [
        *_head(info, metrics, shown, chosen["queues"]),
        "",
        _line(name for name, _, _ in _COLUMNS),
    ]
    lines += [_line(_cell(one, key) for _, _, key in _COLUMNS) for one in shown[: rows or None]]
    return lines


def _is_chosen(application: Fields, chosen: dict[str, tuple[str, ...]]) -> bool:
    queues, users = chosen["queues"], chosen["users"]
    names = (
        application["queue"],
        application["queue"].removeprefix("root."),
        application["queue"].rpartition(".")[2],
    )
    below = any(application["queue"].startswith(queue + ".") for queue in queues)
    return (not users or application["user"] in users) and (
        not queues or below or any(name in queues for name in names)
    )


def _head(
    info: Fields, metrics: Fields, shown: Sequence[Fields], queues: Sequence[str]
) -> list[str]:
    now = datetime.now(UTC).astimezone()
    up_s = max(0, int(now.timestamp()) - int(info["startedOn"]) // 1000)
    days, hours, minutes = up_s // 86_400, up_s // 3_600 % 24, up_s // 60 % 60
    users = len({one["user"] for one in shown})
    m = metrics
    return [
        f"YARN top - {now:%H:%M:%S}, up {days}d, {hours}:{minutes}, {users} active users,"
        f" queue(s): {','.join(queues) or 'root'}",
        f"NodeManager(s): {m['totalNodes']} total, {m['activeNodes']} active,"
        f" {m['unhealthyNodes']} unhealthy, {m['decommissionedNodes']} decommissioned,"
        f" {m['lostNodes']} lost, {m['rebootedNodes']} rebooted",
        f"Queue(s) Applications: {m['appsRunning']} running, {m['appsSubmitted']} submitted,"
        f" {m['appsPending']} pending, {m['appsCompleted']} completed, {m['appsKilled']} killed,"
        f" {m['appsFailed']} failed",
        f"Queue(s) Mem(GB): {m['availableMB'] // 1024} available, {m['allocatedMB'] // 1024}"
        f" allocated, {m['pendingMB'] // 1024} pending, {m['reservedMB'] // 1024} reserved",
        f"Queue(s) VCores: {m['availableVirtualCores']} available,"
        f" {m['allocatedVirtualCores']} allocated, {m['pendingVirtualCores']} pending,"
        f" {m['reservedVirtualCores']} reserved",
        f"Queue(s) Containers: {m['containersAllocated']} allocated, {m['containersPending']}"
        f" pending, {m['containersReserved']} reserved",
    ]


def _cell(one: Fields, key: str) -> str:
    value = one.get(key, 0)
    if key in ("allocatedMB", "reservedMB"):
        return f"{max(0, value) // 1024}G"
    if key == "memorySeconds":
        return f"{value // 1024}"
    if key == "progress":
        return f"{value:.2f}"
    if key == "elapsedTime":
        minutes = value // 60_000
        return f"{minutes // 1440:02d}:{minutes // 60 % 24:02d}:{minutes % 60:02d}"
    return plain(str(value))


def _line(cells: Iterable[str]) -> str:
    made = []
    for cell, (_, width, _) in zip(cells, _COLUMNS, strict=True):
        made.append(cell.ljust(-width) if width < 0 else cell.rjust(width))
    return " ".join(made).rstrip()
