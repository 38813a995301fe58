"""A Ray program as an application: `python -m fairshare.ray.program --workers N ... -- COMMAND`.

Runs as a driver: starts the head of a Ray cluster of its own in its container, asks fairshare for
workers, and runs the command with RAY_ADDRESS when the workers that it needs are there. Further
workers come and go with what its queue is due. Decides nothing about who gets what.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from fairshare.client import TaskGroup
from fairshare.client.driver import Driver
from fairshare.ray.worker import free_port, head_command, worker_arguments

WORKERS, MORE = "workers", "more-workers"
MOST_ATTEMPTS = 1_000
LOOK_S = 1.0
START_S = 60.0


class Program(msgspec.Struct, frozen=True):
    """What is run: with `workers` that start together, and up to `more` while there is room."""

    workers: int
    more: int
    resources: dict[str, int]
    gang_timeout_ms: int
    command: tuple[str, ...]


def program_arguments(program: Program, python: str) -> tuple[str, ...]:
    """The command line of the driver, which runs this module with a Python of its node: the given
    one, if it is there."""
    line = 'python=$(command -v "$0" || echo python3); exec "$python" -m fairshare.ray.program "$@"'
    options = msgspec.json.encode(program).decode()
    return ("/bin/sh", "-c", line, python, options)


def main(options: str) -> int:
    """Run the program; its exit code."""
    program = msgspec.json.decode(options, type=Program)
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # Ray's sockets need a short path
    head: subprocess.Popen[bytes] | None = None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    try:
        port = free_port()
        head = subprocess.Popen(head_command(port, folder), stdin=subprocess.DEVNULL)
        address = _address_of_head(port, head)
        with Driver() as driver:
            driver.register()
            driver.add_tasks(*_groups(program, address))
            _await_workers(address, program.workers)
            print(f"{program.workers} workers are there; running the program", flush=True)
            environment = {**os.environ, "RAY_ADDRESS": address}
            code = subprocess.run(program.command, env=environment, check=False).returncode
            driver.finish(
                succeeded=code == 0,
                diagnostics="" if code == 0 else f"the program ended with exit code {code}",
            )
        return code
    finally:
        if head is not None:
            head.terminate()
            try:
                head.wait(10)
            except subprocess.TimeoutExpired:
                head.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _groups(program: Program, address: str) -> list[TaskGroup]:
    common: dict[str, Any] = {
        "arguments": worker_arguments(address, program.resources),
        "resources": program.resources,
        "max_attempts": MOST_ATTEMPTS,
    }
    first = TaskGroup(
        name=WORKERS,
        count=program.workers,
        gang=True,
        gang_restart="task",
        gang_timeout_ms=program.gang_timeout_ms,
        **common,
    )
    if not program.more:
        return [first]
    return [first, TaskGroup(name=MORE, count=program.more, priority=2, **common)]


def _address_of_head(port: int, head: "subprocess.Popen[bytes]") -> str:
    """Where the head listens, once it does; raises RuntimeError if it ends."""
    import ray

    host = ray.util.get_node_ip_address()
    end_s = time.monotonic() + START_S
    while True:
        if head.poll() is not None or time.monotonic() > end_s:
            raise RuntimeError("the head of the program's own Ray cluster did not start")
        try:
            ray.init(f"{host}:{port}", log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError, OSError):
            time.sleep(LOOK_S)
        else:
            return f"{host}:{port}"


def _await_workers(address: str, count: int) -> None:
    """Wait until the workers have joined; the head has no CPU, and is none of them."""
    import ray

    while True:
        there = [one for one in ray.nodes() if one["Alive"] and one["Resources"].get("CPU")]
        if len(there) >= count:
            break
        time.sleep(LOOK_S)
    ray.shutdown()


def _leave(number: int, _: object) -> None:
    sys.exit(128 + number)


def parsed(arguments: Sequence[str]) -> str:
    """The options: one argument in JSON."""
    parser = argparse.ArgumentParser(prog="python -m fairshare.ray.program")
    parser.add_argument("program", help="a Program in JSON")
    return str(parser.parse_args(arguments).program)


if __name__ == "__main__":
    sys.exit(main(parsed(sys.argv[1:])))
