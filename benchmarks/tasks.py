"""Prints how many tasks (`true`) run in a second beside other ways to start them: `python -m
benchmarks.tasks [--tasks 500] [--samples 5] [--json]`.

A server with real containers is started for it; its scheduling, its journal and its control groups
are in its figures, and with the rivals there is nothing of the kind. Processor time is that of the
command, of the server, and of all that both have started. Two tasks run at the same time with each
rival; with fairshare as many as the cluster has processors. For calls of Python functions see
`benchmarks.calls`.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.own_server import OwnServer, own_server
from benchmarks.processes import processor_s, spread_of, users_environment


class Run(msgspec.Struct, frozen=True):
    """How long tasks took together, in seconds: of the clock, of processors, and the part of that
    which the command itself took, with all that it has started."""

    wall_s: float
    processor_s: float
    command_s: float


def measured(what: Callable[[], int], server: OwnServer | None = None) -> Run:
    """Run something that starts processes and waits for them; its exit code must be 0."""
    used = [os.times()]
    server_s = processor_s(server.pid) if server else 0.0
    began_s = time.monotonic()
    if (code := what()) != 0:
        raise RuntimeError(f"a command has ended with exit code {code}")
    wall_s = time.monotonic() - began_s
    used.append(os.times())
    own_s = [one.children_user + one.children_system for one in used]
    server_s = (processor_s(server.pid) if server else 0.0) - server_s
    command_s = own_s[1] - own_s[0]
    return Run(wall_s, command_s + server_s, command_s)


def spawned(arguments: list[str], environment: dict[str, str] | None = None) -> int:
    """The exit code of a command that prints to nowhere."""
    with Path(os.devnull).open("r+b") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), number) for number in (0, 1, 2)]
        given = users_environment(environment)
        pid = os.posix_spawnp(arguments[0], arguments, given, file_actions=actions)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def ways(server: OwnServer, tasks: int) -> dict[str, tuple[Callable[[], int], OwnServer | None]]:
    """What is measured: how it is started, and the server whose processor time counts."""
    submit = [
        *(sys.executable, "-m", "fairshare", "submit", "--queue", "root.research"),
        *("--memory", "64m", "--count", str(tasks), "--wait", "--", "true"),
    ]
    numbers = f"seq {tasks} |"
    found: dict[str, tuple[Callable[[], int], OwnServer | None]] = {
        "fairshare submit --count": (
            lambda: spawned(submit, {"FAIRSHARE_URL": server.url}),
            server,
        ),
        "xargs -P 2": (lambda: spawned(["sh", "-c", f"{numbers} xargs -P 2 -n 1 true"]), None),
    }
    if shutil.which("parallel"):
        line = f"{numbers} parallel --will-cite -j 2 true"
        found["GNU parallel -j 2"] = (lambda: spawned(["sh", "-c", line]), None)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object for each way")
    options = parser.parse_args()
    if options.samples < 1 or options.tasks < 1:
        parser.error("--samples and --tasks must be at least 1")
    if not shutil.which("parallel"):
        print("GNU parallel is not installed: its figures are missing", file=sys.stderr)
    if not options.json:
        print(f"{'':26} {'tasks/s: median, least, most':>30} {'ms of processors a task':>24}, "
              "the command's own part")  # fmt: skip
    with own_server() as server:
        for name, (run, counted) in ways(server, options.tasks).items():
            measured(run, counted)
            runs = [measured(run, counted) for _ in range(options.samples)]
            rates = [options.tasks / one.wall_s for one in runs]
            costs = [one.processor_s * 1_000 / options.tasks for one in runs]
            commands = [one.command_s * 1_000 / options.tasks for one in runs]
            if options.json:
                print(json.dumps({"way": name, "tasks": options.tasks, "tasks_per_s": rates,
                                  "processor_ms": costs, "command_ms": commands}),
                      flush=True)  # fmt: skip
                continue
            rate, cost = spread_of(rates), spread_of(costs)
            print(f"{name:26} {rate.median:14.0f} {rate.least:7.0f} {rate.most:7.0f} "
                  f"{cost.median:24.2f} {spread_of(commands).median:6.2f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
