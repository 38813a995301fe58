"""A MapReduce job on the side of the client: validation, preparation, submission, waiting.

All problems of a job are found before anything is written or submitted. If a job ends early, its
temporary files are removed.
"""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fairshare.client import Application, ApplicationFailed, Client
from fairshare.client.answers import Container
from fairshare.client.errors import NotPicklable
from fairshare.documents.sizes import MEBIBYTE
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.mapreduce import commit
from fairshare.mapreduce import counters as names
from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.functions import Functions, Mapper, Partitioner, Reducer
from fairshare.mapreduce.inputs import SPLIT_BYTES, find_files, splits_of
from fairshare.mapreduce.job import MAP, REDUCE, TAB, Job, Layout, Split
from fairshare.mapreduce.submission import (
    Needs,
    Plan,
    groups_of,
    needs_driver,
    priority_of,
    submission_of,
)

IDENTITY = "cat"

PROGRAM_MB = 24
"""The memory that a task needs for its program and for merging, besides buffered output."""


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a finished job."""

    application: str
    output: Path
    counters: Counters

    @property
    def parts(self) -> list[Path]:
        """The files of the result, in order."""
        return sorted(self.output.glob("part-*"))


@dataclasses.dataclass(kw_only=True)
class MapReduce:
    """One job. `mapper`, `reducer` and `combiner` are all commands, or all Python functions.

    Without `reduces` the mapper's output is the result; without a reducer lines are only sorted.
    Memory is per task; `sort_memory_mb` of it buffers the output of a map: by default a quarter, or
    less if memory is small. `fairshare.mapreduce.functions` describes the functions; all other
    fields are those of `fairshare mapreduce --help`, with the same defaults.
    """

    inputs: Sequence[str | os.PathLike[str]]
    output: str | os.PathLike[str]
    mapper: str | Mapper = IDENTITY
    reducer: str | Reducer | None = None
    combiner: str | Reducer | None = None
    partitioner: Partitioner | None = None
    reduces: int = 1
    maps: int = 1
    split_bytes: int = SPLIT_BYTES
    recursive: bool = False
    binary: bool = False
    key_fields: int = 1
    partition_fields: int = 0
    field_separator: str = TAB
    queue: str | None = None
    pool: str | None = None
    user: str | None = None
    name: str | None = None
    priority: str | int | None = None
    tags: Sequence[str] = ()
    memory_mb: int = 1024
    reduce_memory_mb: int | None = None
    sort_memory_mb: int | None = None
    vcores: int = 1
    max_attempts: int = 4
    time_limit_ms: int | None = None
    slow_start: float = 1.0
    speculative: bool = False
    speculation_delay_ms: int = 10_000
    hosts: Sequence[str] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    directory: str | os.PathLike[str] | None = None

    @property
    def layout(self) -> Layout:
        """The paths of the job's files."""
        return Layout(Path(self.output).expanduser().absolute())

    def splits(self) -> list[Split]:
        """The split of each map. Raises ConfigurationError with all problems."""
        files, problems = find_files(
            [os.fspath(path) for path in self.inputs], recursive=self.recursive
        )
        problems = [*self._problems(), *problems]
        if problems:
            raise ConfigurationError(problems)
        return splits_of(files, maps=self.maps, split_bytes=self.split_bytes)

    def submit(self, client: Client) -> str:
        """Prepare the output directory and submit the job; returns its application's id.

        Raises ConfigurationError, NotPicklable, Refused and ServerUnreachable, and then removes the
        output directory.
        """
        splits = self.splits()
        types = client.cluster().total
        layout = self.layout
        try:
            layout.output.mkdir(parents=True)
        except OSError as error:
            raise ConfigurationError(
                [f"output directory {str(layout.output)!r}: {error.strerror}"]
            ) from error
        try:
            job = self._job(len(splits))
            needs = Needs(
                memory_mb=self.memory_mb,
                reduce_memory_mb=self._reduce_memory_mb,
                vcores=self.vcores,
                max_attempts=self.max_attempts,
                time_limit_ms=self.time_limit_ms,
                slow_start=self.slow_start,
                speculative=self.speculative,
                speculation_delay_ms=self.speculation_delay_ms,
                hosts=tuple(self.hosts),
                environment=dict(self.environment),
            )
            groups = groups_of(layout.output, job.maps, job.reduces, needs, types)
            for folder in (layout.temporary, layout.attempts, layout.committed):
                folder.mkdir()
            job.write(layout, splits)
            if job.functions:
                self._write_functions(layout)
            if needs_driver(needs):
                Plan(groups, needs.speculative, needs.speculation_delay_ms).write(layout)
            whose = {
                "user": self.user,
                "queue": f"root.{self.pool}" if self.pool else self.queue,
                "name": job.name,
                "priority": None if self.priority is None else priority_of(self.priority),
                "tags": tuple(self.tags),
            }
            return client.submit(submission_of(layout.output, groups, needs, whose))
        except BaseException:
            commit.clear(layout)
            raise

    def run(
        self,
        client: Client | None = None,
        show: Callable[[Application], None] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Submit the job and wait for its end; `show` is called with its state after each change.

        Raises ApplicationFailed if it fails. If the waiting ends early, the job is killed.
        """
        with contextlib.ExitStack() as stack:
            client = client or stack.enter_context(Client())
            application = self.submit(client)
            try:
                return self.follow(client, application, show, timeout_s)
            except ApplicationFailed:
                raise
            except BaseException:
                self.abort(client, application)
                raise

    def follow(
        self,
        client: Client,
        application: str,
        show: Callable[[Application], None] | None = None,
        timeout_s: float | None = None,
    ) -> Result:
        """Wait for the end of a submitted job; raises ApplicationFailed if it fails.

        The job continues if the waiting is interrupted.
        """
        for current in client.watch(application, timeout_s):
            if show is not None:
                show(current)
        if current.state != "FINISHED":
            log = client.failure_log(application)
            commit.clear(self.layout)
            raise ApplicationFailed(application, current.state, current.diagnostics, log)
        counters = Counters.read(self.layout.counters)
        counters.merge(job_counters(client.containers(application)))
        return Result(application, self.layout.output, counters)

    def abort(self, client: Client, application: str) -> None:
        """Kill a job and remove its temporary files."""
        with contextlib.suppress(FairshareError):  # it is over, or the server is unreachable
            client.kill(application, "No client waits for its result any more.")
        commit.clear(self.layout)

    def _problems(self) -> list[str]:
        problems = []
        work = [
            function
            for function in (self.mapper, self.reducer, self.combiner)
            if function is not None
        ]
        if len({isinstance(function, str) for function in work}) > 1:
            problems.append(
                "mapper, reducer and combiner: make all of them commands, or all Python functions"
            )
        if any(
            isinstance(function, str) and (not function.strip() or "\0" in function)
            for function in work
        ):
            problems.append("mapper, reducer and combiner: a command is a line for the shell")
        commands = isinstance(self.mapper, str)
        if commands and self.partitioner is not None:
            problems.append("partitioner: only for Python functions; commands have key fields")
        fields = (self.key_fields, self.partition_fields, self.field_separator) != (1, 0, TAB)
        if not commands and (fields or self.partition_fields):
            problems.append("key fields and their separator: only for commands")
        if not self.reduces and (self.reducer or self.combiner or self.partitioner):
            problems.append("reducer, combiner and partitioner: without reduces none is run")
        if not self.inputs:
            problems.append("input: name at least one file, directory or pattern")
        if len(self.field_separator.encode()) < 1 or "\n" in self.field_separator:
            problems.append("field separator: at least one character, and no line feed")
        if self.partition_fields > self.key_fields:
            problems.append(
                f"partition fields: {self.partition_fields} are more than the key's"
                f" {self.key_fields}"
            )
        if self.queue is not None and self.pool is not None:
            problems.append("queue and pool: give one of both; pool P is the queue root.P")
        return [*problems, *self._range_problems(), *self._place_problems()]

    def _range_problems(self) -> list[str]:
        problems = []
        for name, value, least in (
            ("reduces", self.reduces, 0),
            ("maps", self.maps, 1),
            ("split size", self.split_bytes, 1),
            ("key fields", self.key_fields, 1),
            ("partition fields", self.partition_fields, 0),
            ("memory", self.memory_mb, 1),
            ("reduce memory", self._reduce_memory_mb, 1),
            ("sort memory", self._sort_memory_mb, 1),
            ("attempts", self.max_attempts, 1),
        ):
            if value < least:
                problems.append(f"{name}: {value} is below {least}")
        if self._sort_memory_mb >= self.memory_mb > 1:
            problems.append(
                f"sort memory: {self._sort_memory_mb} MB are not less than the {self.memory_mb} MB"
                " of a map, which needs memory for its own work too"
            )
        if not 0.0 <= self.slow_start <= 1.0:
            problems.append(f"slow start: {self.slow_start} is not from 0 to 1")
        if self.priority is not None:
            try:
                priority_of(self.priority)
            except ValueError as error:
                problems.append(f"priority: {error}")
        return problems

    def _place_problems(self) -> list[str]:
        problems = []
        output = str(self.layout.output)
        try:
            output.encode()
        except UnicodeEncodeError:
            problems.append(f"output directory {output!r}: its name is not UTF-8")
        if "\0" in output:
            problems.append("output directory: a NUL character cannot be part of a path")
        elif os.path.lexists(output):
            problems.append(
                f"output directory {output!r} exists already: name another one, or remove it"
            )
        if not Path(self._directory).is_dir():
            problems.append(f"directory {self._directory!r} is not a directory")
        return problems

    @property
    def _directory(self) -> str:
        return str(Path(self.directory or ".").expanduser().absolute())

    @property
    def _reduce_memory_mb(self) -> int:
        return self.memory_mb if self.reduce_memory_mb is None else self.reduce_memory_mb

    @property
    def _sort_memory_mb(self) -> int:
        if self.sort_memory_mb is not None:
            return self.sort_memory_mb
        # As much memory again is left for merging, and for fragmentation.
        return max(1, min(self.memory_mb // 4, (self.memory_mb - PROGRAM_MB) // 2))

    def _job(self, maps: int) -> Job:
        functions = not isinstance(self.mapper, str)
        # Each merged run has a block in memory, as bytes and as objects: about a megabyte.
        factor = max(4, min(100, self._reduce_memory_mb // 4, self.memory_mb // 4))
        return Job(
            name=self.name or _name(self.mapper),
            maps=maps,
            reduces=self.reduces,
            mapper=_name(self.mapper),
            reducer=None if self.reducer is None else _name(self.reducer),
            combiner=None if self.combiner is None else _name(self.combiner),
            functions=functions,
            binary=self.binary,
            key_fields=self.key_fields,
            partition_fields=self.partition_fields,
            field_separator=self.field_separator,
            directory=self._directory,
            sort_memory_bytes=self._sort_memory_mb * MEBIBYTE,
            merge_factor=factor,
        )

    def _write_functions(self, layout: Layout) -> None:
        assert not isinstance(self.mapper, str)
        assert not isinstance(self.reducer, str)
        assert not isinstance(self.combiner, str)
        functions = Functions(self.mapper, self.reducer, self.combiner, self.partitioner)
        try:
            functions.write(layout.functions)
        except OSError:
            raise
        except Exception as error:  # pickling runs the code of referenced objects
            raise NotPicklable(
                f"the functions cannot be sent to a container ({type(error).__name__}: {error}):"
                " locks and connections have to be made inside of them"
            ) from error


def _name(work: str | Callable[..., object]) -> str:
    return work if isinstance(work, str) else getattr(work, "__name__", "function")


def job_counters(containers: Sequence[Container]) -> Counters:
    """The counters of a job's containers, with the names of Hadoop's Job Counters."""
    counters = Counters()
    for container in containers:
        kind = (container.group or "").partition("-")[0]
        if kind not in (MAP, REDUCE):
            continue
        counters.add(f"Launched {kind} tasks", 1, names.JOB)
        if container.failed:
            counters.add(f"Failed {kind} tasks", 1, names.JOB)
        elif container.exit_code:
            counters.add(f"Killed {kind} tasks", 1, names.JOB)
        if container.allocated_ms and container.finished_ms:
            spent_ms = container.finished_ms - container.allocated_ms
            counters.add(f"Total time spent by all {kind} tasks (ms)", spent_ms, names.JOB)
        peak = f"Peak {kind.capitalize()} Physical memory (bytes)"
        more = (container.peak_memory_mb or 0) * MEBIBYTE - counters.get(peak)
        if more > 0:
            counters.add(peak, more)
    return counters
