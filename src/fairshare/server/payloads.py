"""The files of payloads: the pickled Python calls of unfinished applications and their variables
that are not recorded, and calls that were uploaded and that no submission has named yet.

A payload is named by the hash of its content, so that equal payloads share one file:

    STATE/payloads/DIGEST              as it was submitted
    STATE/payloads/users/UID/DIGEST    the copy for containers under an account (`engines/local`)

It is on the disk before the submission that names it is recorded, and is deleted when no live
application names it. A server that is killed in between leaves an unreferenced file, which the next
start deletes. Running containers have links of their own to the payloads that they need.

A call that is too large for the body of a request is uploaded first, and then named by its digest,
by the same caller, within `KEPT_S`. Until then the upload counts as submitted by that caller.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationSubmitted,
    ContainerLaunched,
    TasksAdded,
)
from fairshare.core.model.identifiers import ApplicationId, application_of
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import PAYLOADS, Command, Payload, TaskGroup
from fairshare.core.record import Record
from fairshare.errors import FairshareError, InputError
from fairshare.runtime.observers import Observers
from fairshare.server.access.submitted_bytes import SubmittedBytes
from fairshare.server.state_directory import pieces_of, remove_file, share_file, sync_directory
from fairshare.wording import cause

_log = logging.getLogger("fairshare.server")

KEPT_S: Final = 600.0


class Payloads:
    """The payloads of one state directory; begins with the recovered applications.

    `problem` says why nothing may be written now; empty: it may. `forget` deletes further copies of
    a payload.
    """

    def __init__(
        self,
        state: Path,
        applications: Iterable[Application] = (),
        problem: Callable[[], str] = lambda: "",
        forget: Callable[[str], None] = lambda digest: None,
    ) -> None:
        self._state = state
        self._problem = problem
        self._forget = forget
        self._needed: Counter[str] = Counter()  # by applications and pending submissions
        self._named: dict[ApplicationId, set[str]] = {}
        for application in applications:
            if not application.over:
                commands = [*commands_of(application.submission)]
                commands += (progress.spec.command for progress in application.tasks.groups)
                self._name(application.id, commands)

    def clean(self) -> None:
        """Delete all files that no live application names. Files that cannot be deleted stay."""
        for directory, _, names in os.walk(self._state / PAYLOADS):
            for name in names:
                if name not in self._needed:
                    _delete(Path(directory, name))

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(self._tasks_added, TasksAdded)
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._ended, ApplicationEnded)

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        self._name(event.application, commands_of(event.submission))

    def _tasks_added(self, record: Record, event: TasksAdded) -> None:
        self._name(event.application, (group.command for group in event.tasks))

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        if event.command is not None and event.command.payloads:
            self._name(application_of(event.container), (event.command,))

    def _ended(self, record: Record, event: ApplicationEnded) -> None:
        for digest in self._named.pop(event.application, ()):
            self._release(digest)

    def check(self) -> None:
        """Raise InputError (`disk-full`) while nothing may be written."""
        if problem := self._problem():
            raise InputError("disk-full", problem)

    @contextlib.contextmanager
    def needed(self, digest: str) -> Iterator[None]:
        """Keep a payload, meanwhile."""
        self._needed[digest] += 1
        try:
            yield
        finally:
            self._release(digest)

    @contextlib.asynccontextmanager
    async def of_submission(
        self, submission: SubmitApplication
    ) -> AsyncIterator[SubmitApplication]:
        """The submission with its callables in files, which stay while it is pending.

        Raises InputError (`disk-full`) if they cannot be written.
        """
        async with contextlib.AsyncExitStack() as held:
            tasks = await held.enter_async_context(self.of_groups(submission.tasks))
            driver = submission.driver
            if driver is not None:
                driver = await held.enter_async_context(self.of_command(driver))
            yield msgspec.structs.replace(submission, tasks=tasks, driver=driver)

    @contextlib.asynccontextmanager
    async def of_groups(
        self, task_groups: tuple[TaskGroup, ...]
    ) -> AsyncIterator[tuple[TaskGroup, ...]]:
        """The same for groups of tasks."""
        async with contextlib.AsyncExitStack() as held:
            groups = []
            for group in task_groups:
                command = await held.enter_async_context(self.of_command(group.command))
                groups.append(msgspec.structs.replace(group, command=command))
            yield tuple(groups)

    @contextlib.asynccontextmanager
    async def of_command(self, command: Command) -> AsyncIterator[Command]:
        """The same for one command."""
        with contextlib.ExitStack() as held:
            if command.payload is not None and not command.callable:
                # Uploaded before, and may expire meanwhile.
                held.enter_context(self.needed(command.payload.digest))
            if command.callable:
                payload = await self._written(held, command.callable, "callable")
                command = msgspec.structs.replace(command, callable=b"", payload=payload)
            if command.private:
                variables = await self._written(held, command.private, "environment")
                command = msgspec.structs.replace(command, private=b"", variables=variables)
            yield command

    async def _written(self, held: contextlib.ExitStack, content: bytes, what: str) -> Payload:
        """The payload with a content, which is kept meanwhile; raises InputError."""
        self.check()
        payload = Payload(hashlib.sha256(content).hexdigest(), len(content))
        held.enter_context(self.needed(payload.digest))
        try:
            await asyncio.to_thread(write_payload, self._state, payload, content)
        except FairshareError as error:
            raise InputError("disk-full", f"{error}; nothing was recorded") from error
        except OSError as error:
            raise InputError(
                "disk-full",
                f"the {what} cannot be written to {self._state / PAYLOADS}: {error.strerror};"
                " nothing was recorded",
            ) from error
        return payload

    def _name(self, application: ApplicationId, commands: Iterable[Command]) -> None:
        for command in commands:
            for payload in command.payloads:
                named = self._named.setdefault(application, set())
                if payload.digest not in named:
                    named.add(payload.digest)
                    self._needed[payload.digest] += 1

    def _release(self, digest: str) -> None:
        self._needed[digest] -= 1
        if self._needed[digest]:
            return
        del self._needed[digest]
        _delete(self._state / PAYLOADS / digest)
        self._forget(digest)


def commands_of(submission: SubmitApplication) -> Iterator[Command]:
    """The commands of an application."""
    if submission.driver is not None:
        yield submission.driver
    yield from (group.command for group in submission.tasks)


def write_payload(state: Path, payload: Payload, content: bytes) -> None:
    """Write the file of a payload durably; does nothing if it exists. Raises OSError, and
    FairshareError if other hosts cannot have it; leaves no partial file."""
    path = state / payload.file
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size == payload.size:
            sync_directory(path.parent)  # a concurrent writer may not have synced yet
            return
    path.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f"{payload.digest}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(descriptor, 0o400)
            os.fsync(descriptor)
        share_file(path, (content,))
        Path(name).replace(path)
        sync_directory(path.parent)
    except (OSError, FairshareError):
        Path(name).unlink(missing_ok=True)
        raise


def copy_payloads(state: Path, target: Path) -> None:
    """Copy the files of a state directory to another one, except those that it has. A file that is
    deleted meanwhile is no longer needed. Raises OSError."""
    for path in sorted((state / PAYLOADS).glob("[0-9a-f]*")):
        copy = target / PAYLOADS / path.name
        if "." not in path.name and not copy.exists():
            copy.parent.mkdir(mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path, copy)
                copy.chmod(0o400)


def _delete(path: Path) -> None:
    try:
        remove_file(path)
    except OSError as error:
        _log.warning("%s is not needed any more, and cannot be deleted: %s", path, error.strerror)


class Draft:
    """A payload that is on its way to the disk; its methods run in a thread."""

    def __init__(self, state: Path, digest: str) -> None:
        self._target = state / PAYLOADS / digest
        self._hash = hashlib.sha256()
        self._target.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f"{digest}.", dir=self._target.parent)
        self._path = Path(name)
        self._file = os.fdopen(descriptor, "wb")

    def write(self, content: bytes) -> None:
        """Add to the file; raises OSError."""
        self._hash.update(content)
        self._file.write(content)

    def finish(self) -> bool:
        """Make the file durable and visible, unless its content has another digest than it was
        announced with. Raises OSError, and FairshareError."""
        if self._hash.hexdigest() != self._target.name:
            return False
        self._file.flush()
        os.fchmod(self._file.fileno(), 0o400)
        os.fsync(self._file.fileno())
        share_file(self._target, pieces_of(self._path))
        self._path.replace(self._target)
        sync_directory(self._target.parent)
        return True

    def discard(self) -> None:
        """Close the file, and delete what was not finished."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)


class Uploads:
    """The uploads of one server, by caller and digest."""

    def __init__(self, payloads: Payloads, submitted: SubmittedBytes) -> None:
        self._payloads = payloads
        self._submitted = submitted
        self._kept: dict[tuple[str, str], tuple[Payload, contextlib.ExitStack]] = {}

    async def draft(self, state: Path, digest: str) -> Draft:
        """The draft of an upload; raises InputError (`disk-full`)."""
        self._payloads.check()
        try:
            return await asyncio.to_thread(Draft, state, digest)
        except OSError as error:
            raise _full(state, error) from error

    async def write(self, draft: Draft, state: Path, content: bytes) -> None:
        """Write a part of an upload; raises InputError (`disk-full`)."""
        try:
            await asyncio.to_thread(draft.write, content)
        except OSError as error:
            raise _full(state, error) from error

    async def finish(self, draft: Draft, state: Path, caller: str, payload: Payload) -> None:
        """Keep an upload for its caller; raises InputError (`disk-full`, `bad-request`)."""
        with contextlib.ExitStack() as opened:
            # Needed before it is visible: an application with the same payload may end meanwhile.
            opened.enter_context(self._payloads.needed(payload.digest))
            opened.enter_context(self._submitted.on_its_way(caller, payload.size))
            try:
                whole = await asyncio.to_thread(draft.finish)
            except FairshareError as error:
                raise InputError("disk-full", str(error)) from error
            except OSError as error:
                raise _full(state, error) from error
            if not whole:
                raise InputError(
                    "bad-request", f"the content has another SHA-256 than {payload.digest}"
                )
            self._forget(caller, payload.digest)
            self._kept[caller, payload.digest] = (payload, opened.pop_all())
        loop = asyncio.get_running_loop()
        held = self._kept[caller, payload.digest][1]
        loop.call_later(KEPT_S, self._expire, caller, payload.digest, held)

    def find(self, caller: str, digest: str) -> Payload | None:
        """The upload of a caller; None if there is none, or no longer."""
        found = self._kept.get((caller, digest))
        return None if found is None else found[0]

    def close(self) -> None:
        """Forget all uploads."""
        for caller, digest in list(self._kept):
            self._forget(caller, digest)

    def _expire(self, caller: str, digest: str, held: contextlib.ExitStack) -> None:
        found = self._kept.get((caller, digest))
        if found is not None and found[1] is held:  # else it was uploaded once more
            self._forget(caller, digest)

    def _forget(self, caller: str, digest: str) -> None:
        found = self._kept.pop((caller, digest), None)
        if found is not None:
            found[1].close()


def _full(state: Path, error: OSError) -> InputError:
    return InputError(
        "disk-full", f"the upload cannot be written to {state / PAYLOADS}: {cause(error)}"
    )
