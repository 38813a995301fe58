"""Owns the translation of request bodies into inputs of the resource manager, with its checks.

All problems of a body are collected and reported together, each with its place. Knows neither the
state of the cluster nor its limits: the scheduler checks whether a queue exists.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from fairshare.api import work
from fairshare.api.values import MAX_TASKS, Resources
from fairshare.config.limits import LimitSettings
from fairshare.errors import InputError
from fairshare.manager.groups import check_groups
from fairshare.model.inputs import SubmissionDetails, SubmitApplication
from fairshare.model.resources import Resource, ResourceTypes
from fairshare.model.work import Command, ContainerRequest, TaskGroup
from fairshare.schedulers.protocol import Refusal
from fairshare.web.limits import too_large

DEFAULT_QUEUE = "default"
"""The queue of a submission that names none; placement rules may choose another one."""


class Translation:
    """Translates the parts of one body; `finish` raises InputError if any of them was wrong.

    Until then a placeholder replaces an invalid part.
    """

    def __init__(self, types: ResourceTypes, limits: LimitSettings) -> None:
        self.types = types
        self.limits = limits
        self.problems: list[str] = []

    def finish(self) -> None:
        """Raise InputError (`bad-request`) with all problems, if there are any."""
        if self.problems:
            raise InputError("bad-request", "; ".join(self.problems))

    def resources(self, amounts: Resources, place: str) -> Resource:
        """The vector of named amounts, with `DEFAULT_RESOURCES` for types that are not named."""
        for name in amounts:
            if name not in self.types.names:
                known = ", ".join(self.types.names)
                self.problems.append(
                    f"{place}: the cluster has no resource type '{name}'; it has {known}"
                )
        wanted = work.DEFAULT_RESOURCES | amounts
        return tuple(wanted.get(name, 0) for name in self.types.names)

    def command(self, body: work.Command, place: str) -> Command:
        """One of a vector of arguments, a shell line and a callable."""
        given = [name for name in ("arguments", "command", "callable") if getattr(body, name)]
        if len(given) != 1:
            told = " and ".join(given) or "none of them"
            self.problems.append(
                f"{place}: give one of arguments, command and callable, not {told}"
            )
        arguments = body.arguments
        if body.command:
            arguments = ("/bin/sh", "-c", body.command)
        if arguments and not arguments[0]:
            self.problems.append(f"{place}.arguments[0]: names no program")
        if any("\0" in argument for argument in arguments):
            self.problems.append(f"{place}: an argument holds a NUL character")
        for name, value in body.environment.items():
            if not name or "=" in name or "\0" in name + value:
                self.problems.append(
                    f"{place}.environment: {name!r} cannot be set: a name is not empty and has no "
                    "'=', and neither name nor value has a NUL character"
                )
        directory = body.directory
        if directory is not None and (not directory.startswith("/") or "\0" in directory):
            self.problems.append(f"{place}.directory: {directory!r} is not an absolute path")
        command = Command(arguments, body.environment, directory, body.callable)
        large = too_large(command, self.limits)
        if large:
            self.problems.append(f"{place}: {large}")
        return command

    def groups(
        self, bodies: Sequence[work.TaskGroup], place: str, earlier: Sequence[TaskGroup] = ()
    ) -> tuple[TaskGroup, ...]:
        """Task groups that follow `earlier` ones of the same application."""
        if sum(body.count for body in bodies) > MAX_TASKS:
            self.problems.append(
                f"{place}: more than {MAX_TASKS} tasks; submit several applications"
            )
        groups = self._groups(bodies, place)
        try:
            check_groups(groups, earlier)
        except Refusal as refusal:
            self.problems.append(f"{place}: {refusal.reason}")
        return groups

    def _groups(self, bodies: Sequence[work.TaskGroup], place: str) -> tuple[TaskGroup, ...]:
        return tuple(
            TaskGroup(
                name=body.name,
                count=body.count,
                resource=self.resources(body.resources, f"{place}[{number}].resources"),
                command=self.command(body, f"{place}[{number}]"),
                priority=body.priority,
                hosts=body.hosts,
                racks=body.racks,
                relax=body.relax,
                max_attempts=body.max_attempts,
                time_limit_ms=body.time_limit_ms,
                after=body.after,
                slow_start=body.slow_start,
                label=body.label,
                gang=body.gang,
                gang_timeout_ms=body.gang_timeout_ms,
                gang_restart=body.gang_restart,
            )
            for number, body in enumerate(bodies)
        )

    def requests(self, bodies: Sequence[work.ContainerRequest]) -> tuple[ContainerRequest, ...]:
        """The wishes of a driver."""
        return tuple(
            ContainerRequest(
                count=body.count,
                resource=self.resources(body.resources, f"requests[{number}].resources"),
                priority=body.priority,
                hosts=body.hosts,
                racks=body.racks,
                relax=body.relax,
                request=body.request,
                label=body.label,
            )
            for number, body in enumerate(bodies)
        )


def submission_of(
    body: work.Submission,
    types: ResourceTypes,
    user: str,
    groups: tuple[str, ...],
    limits: LimitSettings,
) -> SubmitApplication:
    """The application that a body describes, for a user of these groups; raises InputError."""
    translation = Translation(types, limits)
    if bool(body.tasks) == (body.driver is not None):
        translation.problems.append("give either tasks or driver")
    if body.master is not None and body.driver is None:
        translation.problems.append("master: only an application with a driver has one")
    tasks = translation.groups(body.tasks, "tasks")
    driver = master = None
    details = SubmissionDetails()
    if body.driver is not None:
        driver = translation.command(body.driver, "driver")
        wanted = body.master or work.Master()
        master = translation.resources(wanted.resources, "master.resources")
        details = SubmissionDetails(keep_containers=wanted.keep_containers)
    translation.finish()
    first = driver or tasks[0].command
    return SubmitApplication(
        user=user,
        queue=body.queue or DEFAULT_QUEUE,
        name=body.name or name_of(first),
        groups=groups,
        priority=body.priority,
        tags=body.tags,
        tasks=tasks,
        master=master,
        driver=driver,
        lifetime_s=body.lifetime_s or 0,
        label=body.label,
        master_label=body.master_label,
        details=details,
    )


def name_of(command: Command) -> str:
    """The default name of an application: its program.

    >>> name_of(Command(("/usr/bin/sort", "-u"))), name_of(Command(("/bin/sh", "-c", "make all")))
    ('sort', 'make')
    """
    if command.is_callable:
        return "callable"
    arguments = command.arguments
    if arguments[:2] == ("/bin/sh", "-c") and len(arguments) == 3:
        arguments = tuple(arguments[2].split()) or arguments
    return PurePosixPath(arguments[0]).name or arguments[0]
