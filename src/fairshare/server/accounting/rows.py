"""The rows of the accounts, and how they are made of an application and its containers."""

import shlex
from typing import Final

import msgspec

from fairshare.api.ray_programs import command_of as ray_command
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_of
from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.core.model.work import Command
from fairshare.documents.gpus import GPU
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.server.views import kind_of

MAX_TEXT: Final = 500
"""The first characters of a command, and the last ones of diagnostics, that are kept."""


class ContainerRow(msgspec.Struct, frozen=True):
    """A row of the table `containers`, in the order of its columns. `task_index` is -1 for a
    container that runs no task of a group; `started_ms` 0 if no engine said that it runs."""

    epoch_ms: int
    container: int
    application: int
    queue: str
    node: str
    task_group: str
    task_index: int
    master: bool
    allocated_ms: int
    started_ms: int
    ended_ms: int
    exit_code: int
    memory_mb: int
    vcores: int
    gpus: int
    peak_memory_mb: int
    cpu_ms: int
    timed_out: bool = False


class ApplicationRow(msgspec.Struct, frozen=True):
    """A row of the table `applications`, in the order of its columns; the sums of its containers
    follow there. `ended_ms` is None while it goes on."""

    epoch_ms: int
    application: int
    name: str
    user: str
    queue: str
    kind: str
    state: str
    submitted_ms: int
    started_ms: int | None
    ended_ms: int | None
    command: str
    directory: str
    diagnostics: str
    view_acl: str | None
    cause: str = ""


def container_row(
    epoch_ms: int, types: ResourceTypes, application: Application, record: ContainerRecord
) -> ContainerRow:
    """The row of a container that has ended."""
    groups = application.tasks.groups
    granted = dict(zip(types.names, record.resource, strict=False))
    return ContainerRow(
        epoch_ms=epoch_ms,
        container=record.container,
        application=application_of(record.container),
        queue=application.queue,
        node=record.node,
        task_group=groups[record.group].spec.name if 0 <= record.group < len(groups) else "",
        task_index=record.task,
        master=record.master,
        allocated_ms=record.allocated_ms,
        started_ms=record.running_ms or 0,
        ended_ms=record.finished_ms or record.allocated_ms,
        exit_code=record.exit_code or 0,
        memory_mb=granted.get(MEMORY, 0),
        vcores=granted.get(VCORES, 0),
        gpus=granted.get(GPU, 0),
        peak_memory_mb=record.peak_memory_mb,
        cpu_ms=record.cpu_ms,
        timed_out=record.timed_out,
    )


def application_row(epoch_ms: int, application: Application) -> ApplicationRow:
    """The row of an application, alive or over."""
    submission = application.submission
    command = command_of(application)
    return ApplicationRow(
        epoch_ms=epoch_ms,
        application=application.id,
        name=submission.name,
        user=submission.user,
        queue=application.queue,
        kind=kind_of(application),
        state=str(application.state),
        submitted_ms=application.submitted_ms,
        started_ms=application.started_ms or None,
        ended_ms=application.finished_ms,
        command=command_text(command)[:MAX_TEXT],
        directory=(command.directory or "") if command is not None else "",
        diagnostics=application.diagnostics[-MAX_TEXT:],
        view_acl=submission.details.view_acl,
        cause=str(application.cause),
    )


def command_of(application: Application) -> Command | None:
    """What an application runs: its driver, or its first group; None: neither is known here."""
    submission = application.submission
    if submission.driver is not None:
        return submission.driver
    groups = application.tasks.groups
    if groups:
        return groups[0].spec.command
    return submission.tasks[0].command if submission.tasks else None


def command_text(command: Command | None) -> str:
    """A command as a line for a shell.

    >>> command_text(Command(("sh", "-c", "sleep 1"))), command_text(Command(callable=b"x"))
    ("sh -c 'sleep 1'", '(a Python call)')
    """
    if command is None:
        return ""
    if command.is_callable:
        return "(a Python call)"
    return ray_command(command.arguments) or shlex.join(command.arguments)
