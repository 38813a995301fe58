"""A Ray program as an application: `python -m fairshare.ray.program --workers N ... -- COMMAND`.

Runs as a driver: starts the head of a Ray cluster of its own in its container, asks fairshare for
workers, and runs the command with RAY_ADDRESS when the workers that it needs are there. Further
workers come and go with what its queue is due.
"""

import argparse
import os
import secrets
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

from fairshare.api.ray_programs import Program as Program
from fairshare.api.ray_programs import container_signal, ended_with
from fairshare.api.ray_programs import program_arguments as program_arguments
from fairshare.client import TaskGroup
from fairshare.client.driver import Driver
from fairshare.engines.local import processes
from fairshare.ray import warnings
from fairshare.ray.worker import (
    GRACE_VARIABLE,
    free_port,
    head_command,
    ray_environment,
    worker_arguments,
)

WORKERS, MORE = "workers", "more-workers"
MOST_ATTEMPTS = 1_000
LOOK_S = 1.0
START_S = 60.0
TOKEN_VARIABLES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")


def main(options: str) -> int:
    """Run the program; its exit code."""
    program = msgspec.json.decode(options, type=Program)
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # Ray's sockets need a short path
    head: subprocess.Popen[bytes] | None = None
    # Without a token any client that reaches the head would run code as this user. Releases of Ray
    # before 2.52 know none.
    os.environ.update(zip(TOKEN_VARIABLES, ("token", secrets.token_hex(32)), strict=True))
    run = Run(program, folder / "warning")
    for number in {signal.SIGTERM, signal.SIGINT, signal.Signals[f"SIG{program.end_signal.name}"]}:
        signal.signal(number, run.warn)
    try:
        port = free_port()
        # The standard output is the program's alone.
        head = subprocess.Popen(
            head_command(port, folder),
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            env=ray_environment(),
        )
        address = _address_of_head(port, head)
        with Driver() as driver:
            driver.register()
            driver.add_tasks(*_groups(program, address))
            _await_workers(address, program.workers)
            words = f"{program.workers} workers are there; running the program"
            print(words, file=sys.stderr, flush=True)
            code = run.to_its_end(address)
            if not run.warned:
                _end(head)  # so that workers need not ask it before they end
                driver.finish(succeeded=code == 0, diagnostics=ended_with(code))
        return code
    finally:
        if head is not None:
            _end(head)
        shutil.rmtree(folder, ignore_errors=True)


class Run:
    """The program's own process, which is warned before its container ends. A program that was
    warned is not done, however it ends: it starts again when there is room."""

    def __init__(self, program: Program, file: Path) -> None:
        self._program = program
        self._file = file
        self._process: subprocess.Popen[bytes] | None = None
        self.warned = False

    def to_its_end(self, address: str) -> int:
        """Run the program on a cluster; its exit code."""
        environment = {**os.environ, "RAY_ADDRESS": address, warnings.VARIABLE: str(self._file)}
        self._process = subprocess.Popen(self._program.command, env=environment)
        return self._process.wait()

    def warn(self, number: int, _: object) -> None:
        """As a handler of a signal: passes it on, as an engine would; before the program runs,
        there is nothing to save."""
        self.warned = True
        process = self._process
        if process is None:
            sys.exit(128 + number)
        warnings.write(self._file, time.time() + warnings.usable_s(self._program.grace_ms))
        others = processes.descendants(process.pid)
        alone = self._program.end_signal.first_process or not others
        processes.send([process.pid] if alone else others, signal.Signals(number))


def _end(head: "subprocess.Popen[bytes]") -> None:
    head.terminate()
    try:
        head.wait(10)
    except subprocess.TimeoutExpired:
        head.kill()


def _groups(program: Program, address: str) -> list[TaskGroup]:
    common: dict[str, Any] = {
        "arguments": worker_arguments(address, program.resources),
        "resources": program.resources,
        "max_attempts": MOST_ATTEMPTS,
    }
    variables = {name: os.environ[name] for name in TOKEN_VARIABLES if name in os.environ}
    if warnings.NODEMANAGER_VARIABLE not in os.environ:
        common |= {"grace_ms": program.grace_ms, "end_signal": container_signal()}
        variables[GRACE_VARIABLE] = str(program.grace_ms)
    common["environment"] = variables
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


def parsed(arguments: Sequence[str]) -> str:
    """The options: one argument in JSON."""
    parser = argparse.ArgumentParser(prog="python -m fairshare.ray.program")
    parser.add_argument("program", help="a Program in JSON")
    return str(parser.parse_args(arguments).program)


if __name__ == "__main__":
    sys.exit(main(parsed(sys.argv[1:])))
