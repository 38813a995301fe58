"""Owns the conversion of job files, which describe an application in YAML, to submissions.

docs/jobs.md explains the format. All problems of a file are reported at once, with their lines.
Values that only the server can check (queues, resource types, limits) are not checked here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairshare.api.work import Dependency
from fairshare.cli.arrays import array_of_lines, parse_array
from fairshare.cli.documents import (
    Document,
    Reader,
    arguments,
    fraction,
    open_document,
    parsed,
    read_fields,
    sequence,
    text,
    texts,
    truth,
    variables,
    whole,
)
from fairshare.cli.instants import parse_instant_ms
from fairshare.cli.options import MOST_ATTEMPTS, MOST_TASKS
from fairshare.cli.starts import START_KEYS, parse_dependency, start_fields
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
from fairshare.config.located import Node
from fairshare.documents.bounds import GANG_RESTARTS, NOTICE_EVENTS, PROCESS_LIMITS, UNLIMITED
from fairshare.documents.images import check_image
from fairshare.documents.notice_targets import parse_target
from fairshare.documents.output_names import check_pattern
from fairshare.documents.sizes import parse_memory_mb


def restart(node: Node, document: Document, where: str) -> str | None:
    """What starts again of a gang."""
    found = text(node, document, where)
    if found is not None and found not in GANG_RESTARTS:
        document.report(node, f"{where}: it is {' or '.join(GANG_RESTARTS)}, not {found!r}")
        return None
    return found


def notify_targets(node: Node, document: Document, where: str) -> tuple[str, ...] | None:
    """Where notices go."""
    found = texts(node, document, where)
    for target in found or ():
        try:
            parse_target(target)
        except ValueError as error:
            document.report(node, f"{where}: {error}")
            return None
    return found


def notify_events(node: Node, document: Document, where: str) -> tuple[str, ...] | None:
    """What notices are about."""
    found = texts(node, document, where)
    for word in found or ():
        if word not in NOTICE_EVENTS:
            document.report(node, f"{where}: it is {' or '.join(NOTICE_EVENTS)}, not {word!r}")
            return None
    return found


def read_node(node: Node, document: Document, where: str) -> Node:
    """The node itself, for reading it later."""
    return node


def amounts(node: Node, document: Document, where: str) -> dict[str, int]:
    """A mapping from further resource types to whole numbers."""
    if node.entries is None:
        document.report(node, f"{where}: a mapping is needed, such as `yarn.io/gpu: 1`")
        return {}
    form = {key: whole(1, 2**63 - 1) for key in node.entries}
    for key in node.entries:
        if key in DEFAULT_RESOURCES:
            message = f"{where}: {key} has a key of its own: memory, or vcores"
            document.report(node.keys[key], message)
    return read_fields(node, document, where, form)


def file_name(name: str) -> str:
    """The name of a file, which may have places such as %t; raises ValueError."""
    check_pattern(name)
    return name


def absolute_mounts(
    given: Sequence[str], entry: Node, document: Document, where: str, folder: Path
) -> tuple[str, ...]:
    """The mounts of a command, relative to the folder of the job file."""
    mounts = []
    for one in given:
        try:
            mounts.append(absolute_mount(one, folder))
        except ValueError as error:
            document.report(entry, f"{where}: mounts: {error}")
    return tuple(mounts)


def process_limits(node: Node, document: Document, where: str) -> dict[str, int]:
    """A mapping from limits of a process to whole numbers; -1 is none."""
    if node.entries is None:
        document.report(node, f"{where}: a mapping is needed, such as `nofile: 4096`")
        return {}
    return read_fields(
        node, document, where, dict.fromkeys(PROCESS_LIMITS, whole(UNLIMITED, 2**53))
    )


def dependencies(node: Node, document: Document, where: str) -> tuple[Dependency, ...]:
    """The applications after which the job starts."""
    found = []
    for word in texts(node, document, where) or ():
        try:
            found.append(parse_dependency(word))
        except ValueError as error:
            document.report(node, f"{where}: {error}")
    return tuple(found)


WORK: dict[str, Reader] = {
    "command": text,
    "arguments": arguments,
    "environment": variables,
    "directory": text,
    "umask": parsed(parse_umask),
    "limits": process_limits,
    "output": parsed(file_name),
    "error": parsed(file_name),
    "input": parsed(file_name),
    "grace": parsed(parse_grace_ms),
    "signal": parsed(parse_end_signal),
    "image": parsed(check_image),
    "mounts": texts,
    "memory": parsed(parse_memory_mb),
    "vcores": whole(1),
    "resources": amounts,
}
"""The fields that task groups and drivers share: command, placement and size."""

GROUP: dict[str, Reader] = {
    "name": text,
    "count": whole(1, MOST_TASKS),
    **WORK,
    "after": texts,
    "slow-start": fraction,
    "max-attempts": whole(1, MOST_ATTEMPTS),
    "time-limit": parsed(parse_duration_ms),
    "priority": whole(-(2**31)),
    "hosts": texts,
    "racks": texts,
    "relax": truth,
    "label": text,
    "gang": truth,
    "gang-timeout": parsed(parse_duration_ms),
    "gang-restart": restart,
    "array": read_node,
    "at-once": whole(1, MOST_TASKS),
    "keep-going": truth,
}

DRIVER: dict[str, Reader] = {**WORK, "keep-containers": truth}

JOB: dict[str, Reader] = {
    "name": text,
    "queue": text,
    "user": text,
    "user-groups": texts,
    "priority": whole(-(2**31)),
    "lifetime": parsed(parse_lifetime_s),
    "tags": texts,
    "label": text,
    "after": dependencies,
    "begin": parsed(parse_instant_ms),
    "deadline": parsed(parse_instant_ms),
    "hold": truth,
    "notify": notify_targets,
    "notify-on": notify_events,
    "tasks": read_node,
    "driver": read_node,
}


def read_job(path: Path) -> Submission:
    """The application that a file describes; raises ConfigurationError with every problem."""
    document, root = open_document(path)
    job = read_fields(root, document, "job", JOB)
    tasks, driver = job.pop("tasks", None), job.pop("driver", None)
    if root.entries is not None and (tasks is None) == (driver is None):
        document.report(root, "job: give one of `tasks` (a list of groups) and `driver`")
    folder = path.absolute().parent
    groups: tuple[TaskGroup, ...] = ()
    if tasks is not None:
        groups = read_groups(tasks, document, folder)
    if driver is not None:
        fields = read_fields(driver, document, "driver", DRIVER)
        keep = fields.pop("keep-containers", False)
        resources, work = split_work(fields, driver, document, "driver", folder)
        job["master"] = Master(resources=resources, keep_containers=keep)
        job["driver"] = DriverCommand(**work)
    if "notify-on" in job:
        if "notify" not in job:
            document.report(root, "job: notify-on has a meaning with notify only")
        job["notify_on"] = job.pop("notify-on")
    document.finish()
    job["groups"] = job.pop("user-groups", ())
    job["lifetime_s"] = job.pop("lifetime", None)
    start = start_fields(job)
    job = {key: value for key, value in job.items() if key not in START_KEYS}
    return Submission(tasks=groups, **job, **start)


def read_groups(node: Node, document: Document, folder: Path) -> tuple[TaskGroup, ...]:
    """The groups of a list; those with problems are left out, as nothing will be submitted."""
    entries = sequence(node, document, "tasks")
    if node.items == []:
        document.report(node, "tasks: the list is empty; an application needs a group of tasks")
    read: list[tuple[Node, dict[str, Any]]] = []
    for number, entry in enumerate(entries, 1):
        fields = read_fields(entry, document, f"task group {number}", GROUP)
        if "name" not in fields:
            if len(entries) > 1:
                document.report(entry, f"task group {number}: needs a name, as there are several")
            fields["name"] = "task"
        read.append((entry, fields))
    check_names(read, document)
    check_order(read, document)
    return tuple(group_of(fields, entry, document, folder) for entry, fields in read)


def group_of(fields: dict[str, Any], entry: Node, document: Document, folder: Path) -> TaskGroup:
    """One group from its fields."""
    where = f"group {fields['name']}"
    resources, rest = split_work(fields, entry, document, where, folder)
    named = {key.replace("-", "_"): value for key, value in rest.items()}
    for key in ("time_limit", "gang_timeout"):
        if key in named:
            named[f"{key}_ms"] = named.pop(key)
    for key in ("gang_timeout_ms", "gang_restart"):
        if key in named and not named.get("gang"):
            word = key.removesuffix("_ms").replace("_", "-")
            document.report(entry, f"{where}: {word} has a meaning with gang: true only")
    if "array" in named:
        named |= _array(named, entry, document, where, folder)
    if named.get("relax") is False and not named.get("hosts") and not named.get("racks"):
        document.report(entry, f"{where}: relax: false says `only there`, but no hosts or racks")
    return TaskGroup(**{"count": 1, **named}, resources=resources)


def _array(
    named: dict[str, Any], entry: Node, document: Document, where: str, folder: Path
) -> dict[str, Any]:
    """The fields of a group that its array sets: a list of lines, FILE, or indexes."""
    node: Node = named.pop("array")
    if "count" in named:
        document.report(entry, f"{where}: count and array: give one of both")
    try:
        if node.items is not None:
            lines = texts(node, document, f"{where}: array") or ()
            array = array_of_lines(enumerate(lines, 1), "the list")
        else:
            array = parse_array(text(node, document, f"{where}: array") or "1", folder)
    except ValueError as error:
        document.report(node, f"{where}: array: {error}")
        return {}
    if array.at_once is not None and "at_once" in named:
        document.report(entry, f"{where}: at-once and %{array.at_once}: give one of both")
    defaults = {"at_once": array.at_once, "keep_going": not named.get("gang", False)}
    return {"count": array.size, "array": array.tasks} | {
        key: value for key, value in defaults.items() if key not in named
    }


def split_work(
    fields: dict[str, Any], entry: Node, document: Document, where: str, folder: Path
) -> tuple[dict[str, int], dict[str, Any]]:
    """The resources, and the other fields with an absolute directory."""
    rest = dict(fields)
    if entry.entries is not None:
        # By the keys in the file: a key with an invalid value was reported, and is not missing.
        keys = entry.entries.keys()
        if ("command" in keys) == ("arguments" in keys):
            both = "`command` (a line for the shell) and `arguments` (a list)"
            document.report(entry, f"{where}: give one of {both}")
    if "directory" in rest:
        rest["directory"] = str((folder / Path(rest["directory"]).expanduser()).resolve())
    for key in ("output", "error", "input"):
        if key in rest:
            rest[key] = str(folder / Path(rest[key]).expanduser())
    if "mounts" in rest:
        rest["mounts"] = absolute_mounts(rest["mounts"], entry, document, where, folder)
        if "image" not in rest:
            document.report(entry, f"{where}: mounts: there is no image")
    for key, field in (("grace", "grace_ms"), ("signal", "end_signal")):
        if key in rest:
            rest[field] = rest.pop(key)
    resources = {
        "memory-mb": rest.pop("memory", DEFAULT_RESOURCES["memory-mb"]),
        "vcores": rest.pop("vcores", DEFAULT_RESOURCES["vcores"]),
        **rest.pop("resources", {}),
    }
    return resources, rest


def check_names(read: Sequence[tuple[Node, dict[str, Any]]], document: Document) -> None:
    """Report duplicate names, and `after` with unknown groups."""
    names = [str(fields["name"]) for _, fields in read]
    for number, (entry, fields) in enumerate(read):
        name = names[number]
        if name in names[:number] and "name" in fields:
            document.report(entry, f"group {name}: there is another group of this name")
        if "/" in name:
            document.report(entry, f"group {name}: a name has no slash; tasks are called NAME/0")
        for other in fields.get("after", ()):
            if other not in names:
                document.report(
                    entry, f"group {name}: after: no group {other!r}; there are {', '.join(names)}"
                )


def check_order(read: Sequence[tuple[Node, dict[str, Any]]], document: Document) -> None:
    """Report groups that wait for each other in a cycle, so that none of them could ever start."""
    names = {fields["name"] for _, fields in read}
    waiting = {f["name"]: {o for o in f.get("after", ()) if o in names} for _, f in read}
    while free := [name for name, others in waiting.items() if not others]:
        for name in free:
            del waiting[name]
        for others in waiting.values():
            others.difference_update(free)
    if waiting:
        entry = next(entry for entry, fields in read if fields["name"] in waiting)
        circle = ", ".join(str(name) for name in waiting)
        document.report(entry, f"these groups wait for each other: {circle}; take out an `after`")
