"""Prints what commands of the command line cost: `python -m benchmarks.commands [--samples 15]
[--tasks 500] [--json]`.

A server with real containers is started for it. Processor time is that of the command alone, not of
the server and of what runs in containers. The start of the interpreter stands beside the commands:
it is in each of them.
"""

import argparse
import json
import sys

from benchmarks.own_server import own_server
from benchmarks.processes import cost_of, spread_of

GOALS_MS = {"fairshare --help": 50, "fairshare apps": 90, "fairshare submit --wait -- true": 110}
"""Of processor time, on the machine on which these took 62, 270 and 290 ms."""


def commands(tasks: int) -> dict[str, list[str]]:
    """The commands that are measured, by what a user writes."""
    own = [sys.executable, "-m", "fairshare"]
    small = ["--queue", "root.research", "--memory", "64m"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "fairshare --help": [*own, "--help"],
        "fairshare apps": [*own, "apps"],
        "fairshare submit --wait -- true": [*own, "submit", *small, "--wait", "--", "true"],
        f"fairshare submit --count {tasks} --wait -- true": [
            *(*own, "submit", *small, "--count", str(tasks), "--wait", "--", "true"),
        ],
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=15, help="5 at most of the last command")
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--json", action="store_true", help="one JSON object for each command")
    options = parser.parse_args()
    if options.samples < 1 or options.tasks < 1:
        parser.error("--samples and --tasks must be at least 1")
    if not options.json:
        print(
            f"{'ms: median, least, most':44} {'processor time':>22} {'wall time':>22} {'goal':>6}"
        )
    with own_server() as server:
        environment = {"FAIRSHARE_URL": server.url}
        for name, command in commands(options.tasks).items():
            most = min(options.samples, 5) if "--count" in name else options.samples
            cost_of(command, environment)  # what it imports is compiled and in the cache then
            costs = [cost_of(command, environment) for _ in range(most)]
            processor = spread_of([cost.processor_s * 1_000 for cost in costs])
            wall = spread_of([cost.wall_s * 1_000 for cost in costs])
            if options.json:
                print(json.dumps({
                    "command": name,
                    "processor_ms": [cost.processor_s * 1_000 for cost in costs],
                    "wall_ms": [cost.wall_s * 1_000 for cost in costs],
                    "goal_processor_ms": GOALS_MS.get(name),
                }), flush=True)  # fmt: skip
                continue
            print(f"{name:44} {processor.median:8.0f} {processor.least:6.0f} {processor.most:6.0f} "
                  f"{wall.median:8.0f} {wall.least:6.0f} {wall.most:6.0f} "
                  f"{GOALS_MS.get(name, ''):>6}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
