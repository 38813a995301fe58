"""Owns job files, which describe an application in YAML: their structs, and the submissions that
they become.

docs/jobs.md explains the format. All problems of a file are reported at once, with their lines.
Strings are read verbatim: `on`, `1.10` and `0755` are strings. Values that only the server can
check (queues, resource types, limits) are not checked here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, field

from fairshare.api.work import Dependency, EndSignal
from fairshare.cli.arrays import Array, array_of_lines, parse_array
from fairshare.cli.instants import parse_instant_ms
from fairshare.cli.options import MOST_ATTEMPTS, MOST_TASKS
from fairshare.cli.starts import parse_dependency
from fairshare.cli.units import (
    absolute_mount,
    parse_duration_ms,
    parse_end_signal,
    parse_grace_ms,
    parse_lifetime_s,
    parse_umask,
)
from fairshare.client import DriverCommand, Master, Submission, TaskGroup
from fairshare.client.submissions import DEFAULT_RESOURCES
from fairshare.documents.bounds import GANG_RESTARTS, NOTICE_EVENTS, PROCESS_LIMITS, UNLIMITED
from fairshare.documents.images import check_image
from fairshare.documents.located import Node
from fairshare.documents.notice_targets import parse_target
from fairshare.documents.output_names import check_pattern
from fairshare.documents.problems import Problems
from fairshare.documents.sizes import parse_memory_mb
from fairshare.documents.structs import At, read
from fairshare.documents.values import (
    FRACTION,
    TEXT,
    TEXTS,
    Reader,
    Value,
    by_name,
    either,
    one_of,
    one_or_several,
    parsed,
    whole,
)
from fairshare.documents.yaml_tree import read_yaml
from fairshare.errors import ConfigurationError

RULE: Final = "job"


def _read_arguments(reader: Reader, node: Node, what: str) -> tuple[str, ...] | None:
    """A list of texts; all except the first may be empty."""
    if not node.items:
        reader.wrong(node.place, f"{what}: a list is needed, such as [sort, -u, names.txt]")
        return None
    if not all(item.is_scalar for item in node.items) or not node.items[0].text:
        reader.wrong(node.place, f"{what}: each must be one value, the first a program")
        return None
    return tuple(item.text for item in node.items)


def _read_variable(reader: Reader, node: Node, what: str) -> str | None:
    """A text, which may be empty."""
    return node.text if node.is_scalar else reader.text(node, what)


def _relative(parse: Callable[[str, Path], Any]) -> Value:
    """What a function makes of a text and the folder of the job file."""

    def read_text(reader: Reader, node: Node, what: str) -> Any:
        text = reader.text(node, what)
        folder = reader.folder
        return None if text is None else reader.parsed(node, what, lambda text: parse(text, folder))

    return Value(TEXT.schema, TEXT.words, read_text)


def _directory(text: str, folder: Path) -> str:
    return str((folder / Path(text).expanduser()).resolve())


def _stream_file(name: str, folder: Path) -> str:
    """The path of a file, whose name may have places such as %t; raises ValueError."""
    check_pattern(name)
    return str(folder / Path(name).expanduser())


def _notice_target(text: str) -> str:
    """Where notices go; raises ValueError."""
    parse_target(text)
    return text


def _read_array(reader: Reader, node: Node, what: str) -> Array | None:
    """A list of lines, FILE or indexes."""
    if node.items is None:
        array: Array | None = _ARRAY_TEXT.read(reader, node, what)
        return array
    lines = TEXTS.read(reader, node, what)
    return reader.parsed(node, what, lambda _: array_of_lines(enumerate(lines, 1), "the list"))


_ARGUMENTS: Final = Value(TEXTS.schema, TEXTS.words, _read_arguments)
_ARRAY_TEXT: Final = _relative(parse_array)
_ARRAY: Final = either(TEXT, TEXTS, words="", read=_read_array)
_DURATION: Final = parsed(parse_duration_ms)
_INSTANT: Final = parsed(parse_instant_ms)
_STREAM: Final = _relative(_stream_file)
_TEXTS: Final = one_or_several(TEXT, "")
_VARIABLE: Final = Value(TEXT.schema, TEXT.words, _read_variable)
_PRIORITY: Final = Meta(ge=-(2**31), le=2**31 - 1)
_SEVERAL_MOUNTS: Final = one_or_several(_relative(absolute_mount), "")


class Work(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What task groups and drivers share: command, placement and size."""

    command: str | None = None
    arguments: Annotated[tuple[str, ...] | None, _ARGUMENTS] = None
    environment: Annotated[dict[str, str] | None, by_name(_VARIABLE, "")] = None
    directory: Annotated[str | None, _relative(_directory)] = None
    umask: Annotated[str | None, parsed(parse_umask)] = None
    limits: Annotated[
        dict[str, int] | None, by_name(whole(UNLIMITED, 2**53), "", PROCESS_LIMITS)
    ] = None
    output: Annotated[str | None, _STREAM] = None
    error: Annotated[str | None, _STREAM] = None
    input: Annotated[str | None, _STREAM] = None
    grace_ms: Annotated[int | None, parsed(parse_grace_ms)] = field(name="grace", default=None)
    end_signal: Annotated[EndSignal | None, parsed(parse_end_signal)] = field(
        name="signal", default=None
    )
    image: Annotated[str | None, parsed(check_image)] = None
    mounts: Annotated[tuple[str, ...] | None, _SEVERAL_MOUNTS] = None
    memory: Annotated[int, parsed(parse_memory_mb)] = DEFAULT_RESOURCES["memory-mb"]
    vcores: Annotated[int, Meta(ge=1, le=2**31 - 1)] = DEFAULT_RESOURCES["vcores"]
    resources: Annotated[dict[str, int], by_name(whole(1, 2**63 - 1), "")] = {}

    def check(self, at: At) -> None:
        """There is one thing to run, and nothing that has no effect."""
        if at.has("command") == at.has("arguments"):
            both = "`command` (a line for the shell) and `arguments` (a list)"
            at.wrong(f"{at.what}: give one of {both}")
        if at.has("mounts") and not at.has("image"):
            at.wrong(f"{at.what}: mounts: there is no image")
        for name in DEFAULT_RESOURCES:
            if name in self.resources:
                message = f"{at.path('resources')}: {name} has a key of its own: memory, or vcores"
                at.wrong(message, "resources", name)

    @property
    def size(self) -> dict[str, int]:
        """The resources of its container."""
        return {"memory-mb": self.memory, "vcores": self.vcores, **self.resources}


class Group(Work, frozen=True, kw_only=True, rename="kebab"):
    """A group of tasks."""

    name: str | None = None
    count: Annotated[int | None, Meta(ge=1, le=MOST_TASKS)] = None
    after: Annotated[tuple[str, ...], _TEXTS] = ()
    slow_start: Annotated[float | None, FRACTION] = None
    max_attempts: Annotated[int | None, Meta(ge=1, le=MOST_ATTEMPTS)] = None
    time_limit_ms: Annotated[int | None, _DURATION] = field(name="time-limit", default=None)
    priority: Annotated[int | None, _PRIORITY] = None
    hosts: Annotated[tuple[str, ...], _TEXTS] = ()
    racks: Annotated[tuple[str, ...], _TEXTS] = ()
    relax: bool = True
    label: str | None = None
    gang: bool = False
    gang_timeout_ms: Annotated[int | None, _DURATION] = field(name="gang-timeout", default=None)
    gang_restart: Annotated[str | None, one_of(GANG_RESTARTS)] = None
    array: Annotated[Array | None, _ARRAY] = None
    at_once: Annotated[int | None, Meta(ge=1, le=MOST_TASKS)] = None
    keep_going: bool | None = None

    def check(self, at: At) -> None:
        """Keys that have a meaning together only, or exclude each other."""
        super().check(at)
        for key in ("gang-timeout", "gang-restart"):
            if at.has(key) and not self.gang:
                at.wrong(f"{at.what}: {key} has a meaning with gang: true only")
        if at.has("array") and at.has("count"):
            at.wrong(f"{at.what}: count and array: give one of both")
        if self.array is not None and self.array.at_once is not None and at.has("at-once"):
            at.wrong(f"{at.what}: at-once and %{self.array.at_once}: give one of both")
        if not self.relax and not self.hosts and not self.racks:
            at.wrong(f"{at.what}: relax: false says `only there`, but no hosts or racks")

    def submitted(self) -> TaskGroup:
        """The group of a submission."""
        fields = _written(self) | {"name": self.name or _ONLY, "resources": self.size}
        if self.array is not None:
            array = {"at_once": self.array.at_once, "keep_going": not self.gang} | fields
            fields = array | {"count": self.array.size, "array": self.array.tasks}
        return TaskGroup(**{"count": 1} | fields)


class Driver(Work, frozen=True, kw_only=True, rename="kebab"):
    """The command that submits tasks itself."""

    keep_containers: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The file."""

    name: str | None = None
    queue: str | None = None
    user: str | None = None
    groups: Annotated[tuple[str, ...], _TEXTS] = field(name="user-groups", default=())
    priority: Annotated[int | None, _PRIORITY] = None
    lifetime_s: Annotated[int | None, parsed(parse_lifetime_s)] = field(
        name="lifetime", default=None
    )
    tags: Annotated[tuple[str, ...], _TEXTS] = ()
    label: str | None = None
    after: Annotated[tuple[Dependency, ...], one_or_several(parsed(parse_dependency), "")] = ()
    begin_ms: Annotated[int | None, _INSTANT] = field(name="begin", default=None)
    deadline_ms: Annotated[int | None, _INSTANT] = field(name="deadline", default=None)
    held: bool = field(name="hold", default=False)
    notify: Annotated[tuple[str, ...], one_or_several(parsed(_notice_target), "")] = ()
    notify_on: Annotated[tuple[str, ...] | None, one_or_several(one_of(NOTICE_EVENTS), "")] = None
    tasks: tuple[Group, ...] = ()
    driver: Driver | None = None

    def check(self, at: At) -> None:
        """There is something to run, and the groups refer to each other by their names."""
        if at.has("tasks") == at.has("driver"):
            at.wrong("job: give one of `tasks` (a list of groups) and `driver`")
        if at.has("notify-on") and not at.has("notify"):
            at.wrong("job: notify-on has a meaning with notify only")
        entries = (at.node.entries or {}).get("tasks")
        if entries is not None and entries.items == []:
            message = "tasks: the list is empty; an application needs a group of tasks"
            at.reader.wrong(entries.place, message)
        elif entries is not None and len(entries.items or ()) == len(self.tasks):
            groups = list(zip(self.tasks, entries.items or (), strict=True))
            _check_names(groups, at.reader)
            _check_order(groups, at.reader)

    def submitted(self) -> Submission:
        """The submission that the file describes."""
        fields = _written(self) | {"tasks": tuple(group.submitted() for group in self.tasks)}
        if self.driver is not None:
            keep = self.driver.keep_containers
            fields["master"] = Master(resources=self.driver.size, keep_containers=keep)
            fields["driver"] = DriverCommand(**_written(self.driver))
        return Submission(**fields)


_ONLY: Final = "task"
"""The name of a group that is the only one and has none."""
_OF_FILES: Final = frozenset({"memory", "vcores", "resources", "array", "keep_containers"})
"""The fields that a request has in another form."""


def _written(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields that have a value, for a request, which has defaults for the others."""
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__}
    return {
        name: value for name, value in fields.items() if value is not None and name not in _OF_FILES
    }


def read_job(path: Path) -> Submission:
    """The application that a file describes; raises ConfigurationError with every problem."""
    problems = Problems()
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError([f"{path}: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: this is not a text in UTF-8"]) from error
    root = read_yaml(text, str(path), problems)
    reader = Reader(problems, RULE, untyped=True, folder=path.absolute().parent)
    job = None if root is None else read(root, Job, reader)
    problems.raise_errors()
    assert job is not None
    return job.submitted()


def _check_names(groups: Sequence[tuple[Group, Node]], reader: Reader) -> None:
    """Report missing and duplicate names, and `after` with unknown groups."""
    names = [group.name or _ONLY for group, _ in groups]
    for number, (group, entry) in enumerate(groups):
        name = names[number]
        if group.name is None and len(groups) > 1:
            reader.wrong(entry.place, f"tasks[{number}] needs a name, as there are several groups")
        if name in names[:number]:
            reader.wrong(entry.place, f"group {name}: there is another group of this name")
        if "/" in name:
            message = f"group {name}: a name has no slash; tasks are called NAME/0"
            reader.wrong(entry.place, message)
        for other in group.after:
            if other not in names:
                known = ", ".join(names)
                message = f"group {name}: after: no group {other!r}; there are {known}"
                reader.wrong(entry.place, message)


def _check_order(groups: Sequence[tuple[Group, Node]], reader: Reader) -> None:
    """Report groups that wait for each other in a cycle, so that none of them could ever start."""
    waiting = {group.name or _ONLY: set(group.after) for group, _ in groups}
    for others in waiting.values():
        others.intersection_update(waiting)
    while free := [name for name, others in waiting.items() if not others]:
        for name in free:
            del waiting[name]
        for others in waiting.values():
            others.difference_update(free)
    if waiting:
        entry = next(entry for group, entry in groups if (group.name or _ONLY) in waiting)
        circle = ", ".join(waiting)
        message = f"these groups wait for each other: {circle}; take out an `after`"
        reader.wrong(entry.place, message)
