"""Job files, which describe an application in YAML: the forms of their mappings, which are read by
the table of options (`work_options`), and the submissions that they become.

docs/jobs.md explains the format. All problems of a file are reported at once, with their lines.
Strings are read verbatim: `on`, `1.10` and `0755` are strings. Values that only the server can
check (queues, resource types, limits) are not checked here.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import click
import msgspec

from fairshare.api.work import DEFAULT_RESOURCES
from fairshare.cli.arrays import Array, array_of_lines, parse_array
from fairshare.cli.options import Whole
from fairshare.cli.units import parse_name, parse_tag
from fairshare.cli.work_options import OPTIONS, OTHER_FORM, InFolder, Opt, Where, container_size
from fairshare.client import DriverCommand, Master, Submission, TaskGroup
from fairshare.documents.bounds import PROCESS_LIMITS, UNLIMITED
from fairshare.documents.gpus import GPU
from fairshare.documents.located import Node
from fairshare.documents.output_names import check_pattern
from fairshare.documents.problems import Problems
from fairshare.documents.structs import At, read, struct_value
from fairshare.documents.values import (
    BOOLEAN,
    FRACTION,
    TEXT,
    TEXTS,
    Reader,
    Value,
    by_name,
    either,
    list_of,
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


def _relative(parse: Callable[[str, Path], object]) -> Value:
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


def _read_array(reader: Reader, node: Node, what: str) -> Array | None:
    """A list of lines, FILE or indexes."""
    if node.items is None:
        array: Array | None = _ARRAY_TEXT.read(reader, node, what)
        return array
    lines = TEXTS.read(reader, node, what)
    return reader.parsed(node, what, lambda _: array_of_lines(enumerate(lines, 1), "the list"))


_ARRAY_TEXT: Final = _relative(parse_array)
_OWN_FORMS: Final = {
    "arguments": Value(TEXTS.schema, TEXTS.words, _read_arguments),
    "array": either(TEXT, TEXTS, words="", read=_read_array),
    "directory": _relative(_directory),
    "environment": by_name(Value(TEXT.schema, TEXT.words, _read_variable), ""),
    "error": _relative(_stream_file),
    "input": _relative(_stream_file),
    "limits": by_name(whole(UNLIMITED, 2**53), "", PROCESS_LIMITS),
    "output": _relative(_stream_file),
    "resources": by_name(whole(1, 2**63 - 1), ""),
    "slow_start": FRACTION,
    "vcores": whole(1, 2**31 - 1),
    "gpus": whole(1, 2**31 - 1),
}
"""The fields that a file writes in another form than an option."""


def _value(opt: Opt) -> Value:
    """How a key is read: as its option is, but for names and tags, which the server checks."""
    parse = opt.parse
    if opt.field in _OWN_FORMS:
        return _OWN_FORMS[opt.field]
    if isinstance(parse, Whole):
        value = whole(parse.least, parse.most)
    elif isinstance(parse, click.Choice):
        value = one_of(parse.choices)
    elif isinstance(parse, InFolder):
        value = _relative(parse.parse)
    elif parse is bool:
        value = BOOLEAN
    elif parse in (str, parse_name, parse_tag):
        value = TEXT
    else:
        assert callable(parse), opt.field
        value = parsed(parse)
    return one_or_several(value, "") if opt.several else value


def _form(name: str, check: Callable[[Any, At], None], *where: Where, **inner: Value) -> Any:
    """The struct of a mapping with the keys of some parts of a job; what is not written is None."""
    rows = [opt for opt in OPTIONS if opt.where in where and opt.key is not None]
    values = {opt.field: _value(opt) for opt in rows} | inner
    return msgspec.defstruct(
        name,
        [(field, Annotated[Any, value], None) for field, value in values.items()],
        namespace={"check": check},
        module=__name__,
        frozen=True,
        kw_only=True,
        rename={opt.field: opt.key_name for opt in rows},
    )


def _check_work(work: Any, at: At) -> None:
    """There is one thing to run, and nothing that has no effect."""
    if at.has("command") == at.has("arguments"):
        both = "`command` (a line for the shell) and `arguments` (a list)"
        at.wrong(f"{at.what}: give one of {both}")
    if at.has("mounts") and not at.has("image"):
        at.wrong(f"{at.what}: mounts: there is no image")
    for name in DEFAULT_RESOURCES:
        if name in (work.resources or {}):
            message = f"{at.path('resources')}: {name} has a key of its own: memory, or vcores"
            at.wrong(message, "resources", name)
    if at.has("gpus") and GPU in (work.resources or {}):
        at.wrong(f"{at.path('resources')}: {GPU} and gpus: give one of both", "resources", GPU)


def _check_group(group: Any, at: At) -> None:
    """Keys that have a meaning together only, or exclude each other."""
    _check_work(group, at)
    for key in ("gang-timeout", "gang-restart"):
        if at.has(key) and not group.gang:
            at.wrong(f"{at.what}: {key} has a meaning with gang: true only")
    if at.has("array") and at.has("count"):
        at.wrong(f"{at.what}: count and array: give one of both")
    if group.array is not None and group.array.at_once is not None and at.has("at-once"):
        at.wrong(f"{at.what}: at-once and %{group.array.at_once}: give one of both")
    if group.relax is False and not group.hosts and not group.racks:
        at.wrong(f"{at.what}: relax: false says `only there`, but no hosts or racks")


def _check_job(job: Any, at: At) -> None:
    """There is something to run, and the groups refer to each other by their names."""
    if at.has("tasks") == at.has("driver"):
        at.wrong("job: give one of `tasks` (a list of groups) and `driver`")
    if at.has("notify-on") and not at.has("notify"):
        at.wrong("job: notify-on has a meaning with notify only")
    entries = (at.node.entries or {}).get("tasks")
    if entries is not None and entries.items == []:
        message = "tasks: the list is empty; an application needs a group of tasks"
        at.reader.wrong(entries.place, message)
    elif entries is not None and len(entries.items or ()) == len(job.tasks or ()):
        groups = list(zip(job.tasks or (), entries.items or (), strict=True))
        _check_names(groups, at.reader)
        _check_order(groups, at.reader)


Group: Final = _form("Group", _check_group, "work", "tasks")
Driver: Final = _form("Driver", _check_work, "work", "driver")
Job: Final = _form(
    "Job", _check_job, "job", tasks=list_of(struct_value(Group)), driver=struct_value(Driver)
)

_ONLY: Final = "task"
"""The name of a group that is the only one and has none."""


def _written(struct: Any) -> dict[str, Any]:
    """The fields that have a value, for a request, which has defaults for the others."""
    fields = {name: getattr(struct, name) for name in struct.__struct_fields__}
    return {
        name: value
        for name, value in fields.items()
        if value is not None and name not in OTHER_FORM
    }


def _size(work: Any) -> dict[str, int]:
    """The resources of a container."""
    return container_size(work.memory, work.vcores, work.gpus, work.resources or {})


def _group(group: Any) -> TaskGroup:
    """The group of a submission."""
    fields = _written(group) | {"name": group.name or _ONLY, "resources": _size(group)}
    if group.array is not None:
        array = {"at_once": group.array.at_once, "keep_going": not group.gang} | fields
        fields = array | {"count": group.array.size, "array": group.array.tasks}
    return TaskGroup(**fields)


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
    fields = _written(job) | {"tasks": tuple(_group(group) for group in job.tasks or ())}
    if job.driver is not None:
        keep = bool(job.driver.keep_containers)
        fields["master"] = Master(resources=_size(job.driver), keep_containers=keep)
        fields["driver"] = DriverCommand(**_written(job.driver))
    return Submission(**fields)


def _check_names(groups: Sequence[tuple[Any, Node]], reader: Reader) -> None:
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
        for other in group.after or ():
            if other not in names:
                known = ", ".join(names)
                message = f"group {name}: after: no group {other!r}; there are {known}"
                reader.wrong(entry.place, message)


def _check_order(groups: Sequence[tuple[Any, Node]], reader: Reader) -> None:
    """Report groups that wait for each other in a cycle, so that none of them could ever start."""
    waiting = {group.name or _ONLY: set(group.after or ()) for group, _ in groups}
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
