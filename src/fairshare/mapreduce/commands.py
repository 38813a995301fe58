"""The execution of a mapper, combiner or reducer that is a shell command.

The command reads stdin and writes stdout concurrently, so that one thread writes its input and
another one reads its stderr. As in a shell pipe, a command may stop reading early; an exit code
other than 0 is a failure.
"""

import contextlib
import fcntl
import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import IO

from fairshare.mapreduce.counters import Reporter
from fairshare.mapreduce.job import Job, TaskFailed
from fairshare.wording import cause

PIPE_BYTES = 1 << 18
READ_BYTES = 1 << 18


class Command:
    """A process with the input `parts`; its output goes to `stdout`, or is read with `output`.

    A context manager, which kills the process at the end if necessary. `end` raises TaskFailed.
    """

    def __init__(
        self,
        line: str,
        role: str,
        job: Job,
        parts: Iterable[bytes],
        reporter: Reporter,
        environment: Mapping[str, str],
        stdout: IO[bytes] | None = None,
    ) -> None:
        self._line = line
        self._role = role
        self._parts = parts
        self._failure: BaseException | None = None
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", line],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if stdout is None else stdout,
                stderr=subprocess.PIPE,
                cwd=job.directory,
                env={**os.environ, **environment},
                bufsize=0,
            )
        except (OSError, ValueError) as error:
            raise TaskFailed(f"cannot start the {role} `{line}`: {cause(error)}") from error
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # above the user's limit: only slower
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        assert self._process.stderr is not None
        self._threads = [
            threading.Thread(target=self._feed),
            threading.Thread(target=self._follow, args=(self._process.stderr, reporter)),
        ]
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def _feed(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            with stdin:
                for part in self._parts:
                    view = memoryview(part)
                    while view:
                        view = view[stdin.write(view) :]
        except BrokenPipeError:
            pass
        except BaseException as error:  # raised by `end`
            self._failure = error

    @staticmethod
    def _follow(stderr: IO[bytes], reporter: Reporter) -> None:
        with os.fdopen(os.dup(stderr.fileno()), "rb") as lines:
            reporter.follow(lines)

    def output(self) -> Iterator[bytes]:
        """The process's output, in parts with arbitrary boundaries."""
        stdout = self._process.stdout
        assert stdout is not None
        while part := stdout.read(READ_BYTES):
            yield part

    def end(self) -> None:
        """Wait for the end of the process. Raises TaskFailed, or the exception of its input."""
        code = self._process.wait()
        for thread in self._threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        if code < 0:
            raise TaskFailed(f"the {self._role} `{self._line}` was ended by signal {-code}")
        if code > 0:
            raise TaskFailed(f"the {self._role} `{self._line}` ended with exit code {code}")

    def __enter__(self) -> "Command":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def environment_of(kind: str, index: int, attempt: str, job: Job) -> dict[str, str]:
    """The environment variables of a command, with the names of Hadoop Streaming."""
    letter = kind[0]
    number = os.environ.get("FAIRSHARE_APPLICATION_ID", "").removeprefix("application_")
    task = f"task_{number}_{letter}_{index:06d}"
    return {
        "mapreduce_job_id": f"job_{number}",
        "mapreduce_job_name": job.name,
        "mapreduce_job_maps": str(job.maps),
        "mapreduce_job_reduces": str(job.reduces),
        "mapreduce_task_id": task,
        "mapreduce_task_attempt_id": f"attempt{task.removeprefix('task')}_{attempt}",
        "mapreduce_task_ismap": "true" if letter == "m" else "false",
        "mapreduce_task_partition": str(index),
    }
