"""The folder in which a server keeps what must outlive it, and the small files in there.

    cluster.json   whose state this is: scheduler, resource types, epoch
    secret         random bytes that the drivers' tokens are made with (0600)
    url            where the server listens; there only while it does
    socket         the path of its Unix socket, if it has one; likewise
    tokens.json    hashes of the users' tokens
    results        results of Python calls that were fetched from other machines
    numbers        bounds of all numbers given away, see `journal_epochs`
    server.log     the log
    audit.log      actions of callers, and refusals (0600)
    shared.json    which database the state is shared in, if it is (0600)

The journal, payloads, the accounts and the containers' folders are beside them, written by their
own packages. Of a shared state, what a server on another host needs goes into the database first
(`server/shared`): not url, socket, numbers, results, the logs and the containers' folders.

Only its owner can access the folder (0700). Its content must not be read as instructions by
anything else.
"""

import contextlib
import logging
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.gpus import GPU
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.runtime.shared import shared_of

PASSABLE = 0o711
"""The mode of a folder in which containers run under the accounts of users: they may pass through
to what is theirs (`engines/local/accounts.py`)."""

DEFAULT_STATE_DIRECTORY = Path("~/.local/state/fairshare")

SHARED_FILE = "shared.json"
_OWN_FILES = frozenset(
    {"cluster.json", "lock", SHARED_FILE, "secret", "tokens.json", "url", "server.log"}
)

SECRET_BYTES = 32
PIECE_BYTES = 4 * 1024**2

Content = TypeVar("Content")

_OF_THIS_HOST = frozenset(
    {"url", "socket", SHARED_FILE, "hadoop-node-ports", "scheduler-conf.next"}
)
"""Small files that say nothing to a server on another host."""

_log = logging.getLogger("fairshare.server")


class ClusterIdentity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The context of a journal's records: the scheduler that decided, and the types of its vectors.

    `epoch_ms` is part of the ids of all applications and containers.
    """

    scheduler: str
    resource_types: tuple[str, ...]
    epoch_ms: int
    units: tuple[str, ...]  # of the types

    def types(self) -> ResourceTypes:
        """The resource types, as a scheduler wants them."""
        return ResourceTypes(self.resource_types, self.units)


class StateDirectory:
    """An existing folder that only we can access; made by `open_state_directory`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.path / "server.log"

    @property
    def containers(self) -> Path:
        """The folders of the containers, below one for each application."""
        return self.path / "containers"

    def secret(self) -> bytes:
        """The secret of the drivers' tokens; created at the first call, constant afterwards."""
        path = self.path / "secret"
        try:
            content = read_private(path)
        except FileNotFoundError:
            content = secrets.token_bytes(SECRET_BYTES)
            write_file(path, content)
            return content
        except OSError as error:
            raise FairshareError(f"cannot read {path}: {error.strerror}") from error
        if len(content) < SECRET_BYTES:
            raise FairshareError(
                f"{path} holds {len(content)} bytes of {SECRET_BYTES}: it is damaged. Delete it; "
                "drivers that run now will have to be started again"
            )
        return content

    def identity(self) -> ClusterIdentity | None:
        """The identity of this state; None in a new folder."""
        return read_json_file(
            self.path / "cluster.json",
            ClusterIdentity,
            "Choose another folder with --state, or mend the file: it says scheduler,"
            " resource_types, units and epoch_ms",
        )

    def claim(
        self, scheduler: str, types: ResourceTypes, now_ms: int, *, journal_is_new: bool = False
    ) -> ClusterIdentity:
        """The identity of this state; a new folder gets one with the epoch `now_ms`.

        So does one whose journal is new: numbers begin again, and must not mean what they meant.
        The tokens of drivers name them, so that they end with the old epoch.

        Raises ConfigurationError if the journal belongs to another scheduler or to other resource
        types: its records would mean something else.
        """
        claimed = ClusterIdentity(scheduler, types.names, now_ms, types.units)
        identity = self.identity()
        if identity is None:
            return self._write(claimed)
        if journal_is_new:
            remove_file(self.path / "secret")
            epoch_ms = max(now_ms, identity.epoch_ms + 1)
            return self._write(msgspec.structs.replace(claimed, epoch_ms=epoch_ms))
        # Tokens, accounts, notices and cron jobs know no scheduler, and types by their names.
        advice = (
            "go back to that configuration; or, when nothing runs any more, move"
            f" {self.path}/journal.sqlite3* away: applications are then forgotten, and tokens,"
            " accounts and cron jobs stay"
        )
        new = set(claimed.resource_types) - set(identity.resource_types)
        without_gpus = ', of which gpus = "none" takes away yarn.io/gpu' if GPU in new else ""
        problems = []
        if identity.scheduler != claimed.scheduler:
            problems.append(
                f"{self.path}: this state belongs to the {identity.scheduler} scheduler, and the "
                f"configuration asks for {claimed.scheduler}; {advice}"
            )
        if identity.resource_types != claimed.resource_types:
            problems.append(
                f"{self.path}: this state counts the resource types "
                f"{', '.join(identity.resource_types)}, and the configuration has "
                f"{', '.join(claimed.resource_types)}{without_gpus}; {advice}"
            )
        if problems:
            raise ConfigurationError(problems)
        return identity

    def change_epoch(self, identity: ClusterIdentity, epoch_ms: int) -> ClusterIdentity:
        """Write down that names have this epoch; nothing if they have it, or it is 0: none yet."""
        if epoch_ms in (0, identity.epoch_ms):
            return identity
        return self._write(msgspec.structs.replace(identity, epoch_ms=epoch_ms))

    def _write(self, identity: ClusterIdentity) -> ClusterIdentity:
        write_file(self.path / "cluster.json", msgspec.json.encode(identity) + b"\n")
        return identity

    def url(self) -> str | None:
        """The last known address of this state's server."""
        try:
            return (self.path / "url").read_text().strip() or None
        except OSError:
            return None

    def publish_url(self, url: str, socket: str | None = None) -> None:
        """Store the server's address, and the path of its Unix socket if it has one, for clients of
        the same user."""
        write_file(self.path / "url", url.encode() + b"\n")
        if socket is None:
            (self.path / "socket").unlink(missing_ok=True)
        else:
            write_file(self.path / "socket", os.fsencode(socket) + b"\n")

    def withdraw_url(self) -> None:
        """Delete the stored address; a missing file is not an error."""
        for name in ("url", "socket"):
            with contextlib.suppress(OSError):
                (self.path / name).unlink()


def open_state_directory(path: Path) -> StateDirectory:
    """Create the folder if necessary (0700), and check that it is ours.

    Raises FairshareError if it cannot be made, belongs to another user, or holds other things.
    """
    path = path.expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        names = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise FairshareError(
            f"cannot use {path} as the state directory: {error.strerror or error}; "
            "choose another folder with --state"
        ) from error
    if status.st_uid != os.geteuid():
        raise FairshareError(
            f"the state directory {path} belongs to user {status.st_uid}, and this server runs as "
            f"{os.geteuid()}; choose another folder with --state"
        )
    if names and not names & _OWN_FILES:
        raise FairshareError(
            f"{path} is not a state directory of fairshare: it holds {min(names)}; name an empty "
            "or a new folder with --state"
        )
    if stat.S_IMODE(status.st_mode) not in (0o700, PASSABLE):
        # The folder contains the tenants' commands, their output and the secret.
        path.chmod(0o700)
    return StateDirectory(path)


def write_file(path: Path, content: bytes) -> None:
    """Put a small file (0600) in place at once: a reader sees the old or the new one, whole.

    When this returns it is the new one after a power cut too: a token that was revoked stays so.
    If the directory is shared, other hosts have it. Raises FairshareError with the path and the
    reason, such as a full disk.
    """
    share_file(path, (content,))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, "wb", opener=private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise FairshareError(f"cannot write {path}: {error.strerror or error}") from error


def share_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Have the database keep a file with this content, if the directory is shared and other hosts
    need the file. To be called before the file is in place. Raises FairshareError."""
    shared = shared_of(path)
    if shared is not None and shared.name not in _OF_THIS_HOST:
        shared.state.keep(shared.name, pieces)


def remove_file(path: Path) -> None:
    """Delete a file, if it exists, here and in the database. Raises OSError."""
    path.unlink(missing_ok=True)
    shared = shared_of(path)
    if shared is not None:
        shared.state.drop(shared.name)


def pieces_of(path: Path) -> Iterator[bytes]:
    """The content of a file, a few megabytes at a time. Raises OSError."""
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def sync_directory(path: Path) -> None:
    """Have the names of a folder survive a power cut; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def private(path: str, flags: int) -> int:
    """An opener of files that only their owner may read."""
    return os.open(path, flags, 0o600)


def results_of(state_directory: Path, application_name: str) -> Path:
    """The folder of the results of an application's Python calls, by container, that were fetched
    from other machines. It may not exist."""
    return state_directory / "results" / application_name


def fetched_result(state_directory: Path, application_name: str, container_name: str) -> Path:
    """The file of a container's result, which may not exist."""
    return results_of(state_directory, application_name) / container_name


def read_private(path: Path) -> bytes:
    """The content of a file that only the server may know and change.

    One that is open to others is closed, with a warning: they may have read it. Raises OSError, and
    FairshareError for what is not a file of the server's account.
    """
    account = os.geteuid()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (account and status.st_uid not in (account, 0)):
            raise FairshareError(
                f"{path} must be a file of the server's account ({account}), and belongs to"
                f" {status.st_uid}: delete it, so that it is made again"
            )
        if stat.S_IMODE(status.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            os.fchmod(descriptor, stat.S_IRUSR | stat.S_IWUSR)
            _log.warning(
                "%s was open to others (mode %o), and is closed now: if others could have read or"
                " changed it, stop the server and delete it, so that it is made again",
                *(path, stat.S_IMODE(status.st_mode)),
            )
        return file.read()


def read_json_file(
    path: Path, kind: type[Content], remedy: str, *, private: bool = False
) -> Content | None:
    """What a file contains; None if there is no such file. `private`: it holds secrets.

    Raises FairshareError for a file that cannot be read or understood, with the remedy.
    """
    try:
        content = read_private(path) if private else path.read_bytes()
        return msgspec.json.decode(content, type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FairshareError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise FairshareError(f"{path} is damaged ({error}). {remedy}") from error
