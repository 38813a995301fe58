"""`yarn logs`: prints the output of containers.

A fairshare server keeps the logs of all containers. A real YARN cluster serves the logs of live
containers at their nodes' web addresses; aggregated logs in its file system are not accessible.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec

from fairshare.yarn.cli import application, attempt, container
from fairshare.yarn.cli.calls import FAILED, MANY, Call, Command, Option, print_error, say
from fairshare.yarn.cli.documents import Fields, items, number_of
from fairshare.yarn.cli.manager import (
    NOT_FOUND,
    Impossible,
    RemoteRefusal,
    ResourceManager,
    segment,
)

COMMAND = Command(
    "yarn logs",
    Option("applicationId", "The application.", 1, "Application ID"),
    Option("containerId", "Only this container.", 1, "Container ID"),
    Option("am", "Only the masters of these attempts, from 1, or ALL.", MANY, "N", commas=True),
    Option("log_files", "Only these files, or ALL.", MANY, "Names", commas=True),
    Option("size", "Only the first bytes of each file; negative: the last ones.", 1, "Bytes"),
    Option("out", "Writes files to this directory instead.", 1, "Directory"),
    Option("show_application_log_info", "Only lists the containers."),
)
_OWN_FILES = ("stdout", "stderr")
_NODE = "/ws/v1/node/containers"
_PART_BYTES = 1 << 20


class Log(msgspec.Struct):
    """One file of one container."""

    container: str
    node: str
    file: str
    content: bytes


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    only = arguments.value("containerId") if "containerId" in arguments else None
    if only is not None:
        of_application = attempt.application_of(container.attempt_of(only))
    elif "applicationId" in arguments:
        of_application = arguments.value("applicationId")
    else:
        return COMMAND.wrong_usage("-applicationId is needed")
    try:
        size = int(arguments.value("size")) if "size" in arguments else None
    except ValueError:
        return COMMAND.wrong_usage(f"-size {arguments.value('size')}: a number is needed")
    manager = call.manager
    if application.find(manager, of_application) is None:
        print_error(f"Can not find any log file for the application: {of_application}")
        return FAILED
    containers = _containers(manager, of_application, only, arguments.values("am"))
    if "show_application_log_info" in arguments:
        for fields in containers:
            say(f"Container: {fields['id']} on {fields['node']}")
        return 0
    directory = Path(arguments.value("out")) if "out" in arguments else None
    wanted = tuple(file for file in arguments.values("log_files") if file.upper() != "ALL")
    count = 0
    for fields in containers:
        for log in _logs(manager, fields, wanted):
            count += 1
            _print(log, size, directory)
    if not count:
        print_error(f"Can not find any log file for the application: {of_application}")
    return 0 if count else FAILED


def _containers(
    manager: ResourceManager, of_application: str, only: str | None, masters: Sequence[str]
) -> list[Fields]:
    """The containers, each with `id`, `node`, and the web address `web` of its node."""
    path = f"/apps/{segment(of_application)}/appattempts"
    attempts = items(manager.get(path), "appAttempts", "appAttempt")
    containers: dict[str, Fields] = {}
    for fields in attempts:
        if fields.get("containerId"):
            master = {
                "id": fields["containerId"],
                "node": fields["nodeId"],
                "attempt": fields["id"],
            }
            containers[fields["containerId"]] = {
                **master,
                "web": f"http://{fields['nodeHttpAddress']}",
            }
    if masters:
        every = "ALL" in [word.upper() for word in masters]
        last = str(max((fields["attempt"] for fields in containers.values()), default=0))
        numbers = [last if word == "-1" else word for word in masters]
        return [
            fields for fields in containers.values() if every or str(fields["attempt"]) in numbers
        ]
    # A fairshare server lists all containers, including ended ones.
    own = manager.own("GET", f"/applications/{segment(of_application)}/containers")
    for fields in items(own.json(), "containers") if own is not None else ():
        containers.setdefault(fields["id"], {**fields, "web": ""})
    for number in attempts[-1:]:
        listed = manager.get(container.containers_path(number["appAttemptId"]))
        for fields in items(listed, "container"):
            places = {"node": fields["assignedNodeId"], "web": fields.get("nodeHttpAddress", "")}
            containers.setdefault(fields["containerId"], {"id": fields["containerId"], **places})
    if only is not None:
        containers = {only: containers.get(only, {"id": only, "node": "", "web": ""})}
    return [containers[name] for name in sorted(containers, key=number_of)]


def _logs(manager: ResourceManager, fields: Fields, wanted: Sequence[str]) -> Iterator[Log]:
    files = [file for file in _OWN_FILES if not wanted or file in wanted]
    is_own = False
    for file in files:
        content = _own_log(manager, fields["id"], file)
        if content is not None:
            is_own = True
            yield Log(fields["id"], fields["node"], file, content)
    if is_own or not fields["web"]:
        return
    for file in wanted or _files_at(manager, fields):
        try:
            found = manager.text_at(f"{fields['web']}{_NODE}/{fields['id']}/logs/{segment(file)}")
        except RemoteRefusal as refusal:
            raise _gone(fields["id"], refusal) from refusal
        yield Log(fields["id"], fields["node"], file, found.content)


def _own_log(manager: ResourceManager, name: str, file: str) -> bytes | None:
    path = f"/containers/{segment(name)}/logs/{file}"
    content = b""
    while True:
        try:
            answer = manager.own("GET", f"{path}?offset={len(content)}&limit={_PART_BYTES}")
        except RemoteRefusal as refusal:
            if refusal.status == NOT_FOUND:
                return None
            raise
        if answer is None:
            return None
        if not answer.content:
            return content
        content += answer.content


def _files_at(manager: ResourceManager, fields: Fields) -> list[str]:
    """The names of a container's log files, from its node."""
    try:
        answer = manager.text_at(f"{fields['web']}{_NODE}/{fields['id']}/logs").json()
    except RemoteRefusal as refusal:
        raise _gone(fields["id"], refusal) from refusal
    infos = answer if isinstance(answer, list) else items(answer, "containerLogsInfo")
    return [file["fileName"] for info in infos for file in items(info, "containerLogInfo")]


def _gone(name: str, refusal: RemoteRefusal) -> Impossible:
    return Impossible(
        f"the node has no logs of {name} any more ({refusal}): what was aggregated lies in the"
        " cluster's file system, which only Hadoop's own `yarn logs` reads"
    )


def _print(log: Log, size: int | None, directory: Path | None) -> None:
    content = log.content
    if size is not None:
        content = content[:size] if size >= 0 else content[size:]
    title = f"Container: {log.container} on {log.node}"
    head = f"{title}\n{'=' * len(title)}\nLogType:{log.file}\nLogLength:{len(log.content)}\n"
    end = f"\nEnd of LogType:{log.file}\n{'*' * 70}\n\n"
    if directory is None:
        click.echo(f"{head}LogContents:")
        click.echo(content, nl=False)
        click.echo(end, nl=False)
        return
    place = directory / (urlsplit(f"//{log.node}").netloc.replace(":", "_") or "unknown")
    place.mkdir(parents=True, exist_ok=True)
    with (place / log.container).open("ab") as file:
        file.write(f"{head}LogContents:\n".encode() + content + end.encode())
