"""The payloads that were uploaded and that no submission has named yet.

A call that is too large for the body of a request is uploaded first, and then named by its digest,
by the same caller, within `KEPT_S`. Until then the upload counts as submitted by that caller.
"""

import asyncio
import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Final

from fairshare.core.model.work import PAYLOADS, Payload
from fairshare.errors import InputError
from fairshare.server.access.submitted_bytes import SubmittedBytes
from fairshare.server.payloads import Payloads
from fairshare.server.state_directory import sync_directory
from fairshare.wording import cause

KEPT_S: Final = 600.0


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
        announced with. Raises OSError."""
        if self._hash.hexdigest() != self._target.name:
            return False
        self._file.flush()
        os.fchmod(self._file.fileno(), 0o400)
        os.fsync(self._file.fileno())
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
