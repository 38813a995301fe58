"""The translation of request bodies into inputs of the resource manager, with its checks, and the
path by which callables arrive that are too large for such a body.

All problems of a body are collected and reported together, each with its place.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes, work
from fairshare.api.applications import Uploaded
from fairshare.api.values import MAX_TASKS, Resources
from fairshare.core.manager.groups import check_groups
from fairshare.core.model.arrays import TaskArray, filled
from fairshare.core.model.identifiers import application_name, parse_application
from fairshare.core.model.inputs import (
    NO_CONDITIONS,
    Condition,
    StartConditions,
    SubmissionDetails,
    SubmitApplication,
)
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import Command, ContainerRequest, Payload, TaskGroup
from fairshare.core.schedulers.protocol import Refusal, State
from fairshare.documents.gpus import GPU, NO_GPUS
from fairshare.documents.images import check_image, parse_mount
from fairshare.documents.indexes import parse_indexes
from fairshare.documents.notice_targets import parse_target
from fairshare.documents.output_names import check_pattern
from fairshare.errors import InputError
from fairshare.server.web.actors import identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.limits import room_for, too_large
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import server_of
from fairshare.settings.limits import LimitSettings
from fairshare.wording import counted, no_application

DEFAULT_QUEUE = "default"
"""The queue of a submission that names none; placement rules may choose another one."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PART_BYTES = 1 << 20


class Translation:
    """Translates the parts of one body; `finish` raises InputError if any of them was wrong.

    Until then a placeholder replaces an invalid part. `uploaded` finds what the caller has uploaded
    by its digest.
    """

    def __init__(
        self,
        types: ResourceTypes,
        limits: LimitSettings,
        uploaded: Callable[[str], Payload | None] = lambda digest: None,
    ) -> None:
        self.types = types
        self.limits = limits
        self._uploaded = uploaded
        self.problems: list[str] = []

    def finish(self) -> None:
        """Raise InputError (`bad-request`) with all problems, if there are any."""
        if self.problems:
            raise InputError("bad-request", "; ".join(self.problems))

    def resources(self, amounts: Resources, place: str) -> Resource:
        """The vector of named amounts, with `DEFAULT_RESOURCES` for types that are not named."""
        for name in amounts:
            if name not in self.types.names:
                names = ", ".join(self.types.names)
                near = next((one for one in self.types.names if one.endswith(f"/{name}")), "")
                advice = f": did you mean {near}?" if near else NO_GPUS if name == GPU else ""
                self.problems.append(
                    f"{place}: the cluster has no resource type '{name}'; it has {names}{advice}"
                )
        wanted = work.DEFAULT_RESOURCES | amounts
        return tuple(wanted.get(name, 0) for name in self.types.names)

    def command(self, body: work.Command, place: str) -> Command:
        """One of a vector of arguments, a shell line and a callable."""
        kinds = ("arguments", "command", "callable", "payload")
        given = [name for name in kinds if getattr(body, name)]
        if len(given) != 1:
            listed = " and ".join(given) or "none of them"
            self.problems.append(
                f"{place}: give one of arguments, command, callable and payload, not {listed}"
            )
        arguments = body.arguments
        if body.command:
            arguments = ("/bin/sh", "-c", body.command)
        if arguments and not arguments[0]:
            self.problems.append(f"{place}.arguments[0]: names no program")
        if any("\0" in argument for argument in arguments):
            self.problems.append(f"{place}: an argument holds a NUL character")
        for name, value in (*body.environment.items(), *body.private_environment.items()):
            if not name or "=" in name or "\0" in name + value:
                self.problems.append(
                    f"{place}.environment: {name!r} cannot be set: a name is not empty and has no "
                    "'=', and neither name nor value has a NUL character"
                )
        directory = body.directory
        if directory is not None and (not directory.startswith("/") or "\0" in directory):
            self.problems.append(f"{place}.directory: {directory!r} is not an absolute path")
        if body.directory_optional and directory is None:
            self.problems.append(f"{place}.directory_optional: there is no directory")
        python = body.python
        is_call = bool(body.callable or body.payload)
        if python is not None and not is_call:
            self.problems.append(f"{place}.python: it has a meaning with callable only")
        if python is not None and (not python.startswith("/") or "\0" in python):
            self.problems.append(f"{place}.python: {python!r} is not an absolute path")
        self._files(body, place)
        self._image(body, place)
        if body.terminal:
            others = ("callable", "payload", "output", "error", "input", "image")
            for name in others:
                if getattr(body, name):
                    self.problems.append(f"{place}.terminal: it cannot be combined with {name}")
        signal = body.end_signal
        limit_ms = getattr(body, "time_limit_ms", None)
        if signal is not None and signal.before_ms and limit_ms is None:
            self.problems.append(f"{place}.end_signal.before_ms: there is no time limit")
        private = body.private_environment
        command = Command(
            arguments,
            body.callable,
            self._payload(body, place),
            private=msgspec.json.encode(private) if private else b"",
            **work.common_fields(body, work.CommandFields),
        )
        all_variables = {**private, **body.environment}
        large = too_large(msgspec.structs.replace(command, environment=all_variables), self.limits)
        if large:
            self.problems.append(f"{place}: {large}")
        return command

    def _payload(self, body: work.Command, place: str) -> Payload | None:
        """The upload that a command names."""
        if body.payload is None:
            return None
        payload = self._uploaded(body.payload)
        if payload is None:
            self.problems.append(
                f"{place}.payload: you have uploaded no {body.payload} in the last ten minutes: PUT"
                f" it to /api/v1/payloads/{body.payload}"
            )
        return payload

    def _files(self, body: work.Command, place: str) -> None:
        """Check the names of the command's files."""
        for field in ("output", "error", "input"):
            name = getattr(body, field)
            if name is None:
                continue
            if not name.startswith("/") or "\0" in name:
                self.problems.append(f"{place}.{field}: {name!r} is not an absolute path")
            try:
                check_pattern(name)
            except ValueError as error:
                self.problems.append(f"{place}.{field}: {error}")

    def _image(self, body: work.Command, place: str) -> None:
        """Check the image and its mounts."""
        if body.mounts and body.image is None:
            self.problems.append(f"{place}.mounts: there is no image")
        if body.image is not None and (body.callable or body.payload):
            self.problems.append(f"{place}.image: a callable cannot run in an image")
        try:
            if body.image is not None:
                check_image(body.image)
        except ValueError as error:
            self.problems.append(f"{place}.image: {error}")
        for number, mount in enumerate(body.mounts):
            try:
                parse_mount(mount)
            except ValueError as error:
                self.problems.append(f"{place}.mounts[{number}]: {error}")

    def groups(
        self, bodies: Sequence[work.TaskGroup], place: str, earlier: Sequence[TaskGroup] = ()
    ) -> tuple[TaskGroup, ...]:
        """Task groups that follow `earlier` ones of the same application."""
        if sum(body.count for body in bodies) > MAX_TASKS:
            self.problems.append(
                f"{place}: more than {MAX_TASKS} tasks; submit several applications"
            )
        groups = tuple(
            self._group(body, f"{place}[{number}]") for number, body in enumerate(bodies)
        )
        try:
            check_groups(groups, earlier)
        except Refusal as refusal:
            self.problems.append(f"{place}: {refusal.reason}")
        return groups

    def _group(self, body: work.TaskGroup, place: str) -> TaskGroup:
        command = self.command(body, place)
        return TaskGroup(
            name=body.name,
            count=body.count,
            resource=self.resources(body.resources, f"{place}.resources"),
            command=command,
            array=self._array(body, command, place),
            **work.common_fields(body, work.GroupFields),
        )

    def _array(self, body: work.TaskGroup, command: Command, place: str) -> TaskArray | None:
        """The array of a group; None if it has none, or a wrong one."""
        task_array = body.array
        if task_array is None:
            return None
        lines = task_array.lines
        if body.callable or body.payload:
            self.problems.append(f"{place}.array: a callable has no arguments to put a line into")
        if any("\0" in line for line in lines):
            self.problems.append(f"{place}.array.lines: a line holds a NUL character")
        try:
            text = task_array.indexes or (f"1-{len(lines)}" if lines else "")
            count, indexes = parse_indexes(text)
        except ValueError as error:
            self.problems.append(f"{place}.array.indexes: {error}")
            return None
        if lines and len(lines) != count:
            have = f"{counted(count, 'index', 'indexes')} for {counted(len(lines), 'line')}"
            self.problems.append(f"{place}.array: there are {have}")
            return None
        if body.count != count:
            has = f"the array has {counted(count, 'task')}"
            self.problems.append(f"{place}.count: it is {body.count}, and {has}")
        array = TaskArray(indexes, lines)
        longest = max(lines, key=len, default=str(indexes[-1][1]))
        filled_in = filled(command.arguments, longest)
        large = too_large(
            Command(filled_in, environment={"FAIRSHARE_ARRAY_LINE": longest}), self.limits
        )
        if large:
            self.problems.append(f"{place}.array: with the longest line {large}")
        return array

    def notices(self, body: work.Submission) -> None:
        """The targets of notices; whether the server sends there is checked later."""
        for number, target in enumerate(body.notify):
            try:
                parse_target(target)
            except ValueError as error:
                self.problems.append(f"notify[{number}]: {error}")

    def requests(self, bodies: Sequence[work.ContainerRequest]) -> tuple[ContainerRequest, ...]:
        """The wishes of a driver."""
        return tuple(
            ContainerRequest(
                count=body.count,
                resource=self.resources(body.resources, f"requests[{number}].resources"),
                request=body.request,
                label=body.label,
                **work.common_fields(body, work.PlaceFields),
            )
            for number, body in enumerate(bodies)
        )


def submission_of(
    body: work.Submission,
    types: ResourceTypes,
    user: str,
    groups: tuple[str, ...],
    limits: LimitSettings,
    start: StartConditions = NO_CONDITIONS,
    uploaded: Callable[[str], Payload | None] = lambda digest: None,
) -> SubmitApplication:
    """The application that a body describes, for a user of these groups, which starts under these
    conditions; `uploaded` as for `Translation`. Raises InputError."""
    translation = Translation(types, limits, uploaded)
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
    translation.notices(body)
    translation.finish()
    details = msgspec.structs.replace(details, notify=body.notify, notify_on=body.notify_on)
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
        start=start,
        deadline_ms=body.deadline_ms or 0,
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


def conditions_of(body: work.Submission, state: State) -> StartConditions:
    """The conditions under which an application starts; raises InputError
    (`unknown-application`)."""
    return StartConditions(dependencies_of(body.after, state), body.begin_ms or 0, body.held)


def dependencies_of(after: Iterable[work.Dependency], state: State) -> tuple[Condition, ...]:
    """The conditions about other applications; raises InputError (`unknown-application`)."""
    conditions = []
    for dependency in after:
        text = dependency.application
        number = parse_application(text)
        if (
            number is None
            or number not in state.applications
            or text not in (str(number), application_name(state.epoch_ms, number))
        ):
            raise InputError("unknown-application", f"after: {no_application(text)}")
        conditions.append(Condition(number, dependency.outcome))
    return tuple(conditions)


async def upload_payload(request: Request) -> Response:
    """PUT /payloads/DIGEST: 201. The body is a pickled call, as bytes, and DIGEST its SHA-256 in
    hexadecimal digits. A submission of the same caller names it within ten minutes as its
    `payload`."""
    digest = request.path_params["digest"]
    if not _DIGEST.fullmatch(digest):
        raise InputError("bad-request", f"{digest!r} is not a SHA-256 in hexadecimal digits")
    server = server_of(request)
    size = _announced(request, server.settings.limits.payload_mb)
    caller = caller_key(request)
    state = server.directory.path
    async with room_for(server, caller, size):
        draft = await server.uploads.draft(state, digest)
        try:
            received, part = 0, bytearray()
            async for chunk in request.stream():
                received += len(chunk)
                if received > size:
                    raise InputError("bad-request", f"there are more than {size} bytes")
                part += chunk
                if len(part) >= _PART_BYTES:
                    await server.uploads.write(draft, state, bytes(part))
                    part.clear()
            if part:
                await server.uploads.write(draft, state, bytes(part))
            await server.uploads.finish(draft, state, caller, Payload(digest, received))
        finally:
            draft.discard()
    return answer(Uploaded(digest, received), 201)


def caller_key(request: Request) -> str:
    """Whose an upload is: the authenticated user's; without authentication all callers',
    since callers are believed anyway."""
    identity = identity_of(request)
    return "" if identity is None else identity.user


def _announced(request: Request, most_mb: int) -> int:
    """The size that a request announces; raises InputError."""
    text = request.headers.get("content-length", "")
    if not text.isdigit():
        raise InputError("bad-request", "say the size of the upload in Content-Length")
    size = int(text)
    if not 0 < size <= most_mb * 1024 * 1024:
        raise InputError(
            "too-large",
            f"an upload of {size} bytes: there may be 1 to {most_mb * 1024 * 1024}"
            " (payload_mb below [limits] in fairshare.toml); put larger data into a file",
        )
    return size


ROUTES = [serve(routes.UPLOAD_PAYLOAD, upload_payload, "applications")]
