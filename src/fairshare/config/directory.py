"""Owns a configuration directory as Hadoop's: which files are read, and what comes out of them.

The only part of this room that opens files. Knows nothing of what a server does with the result.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from fairshare.config import shell
from fairshare.config.element_values import BUILT_IN_POLICIES
from fairshare.config.fair import ALLOCATION_FILE, DEFAULT_ALLOCATION_FILE, collect_fair
from fairshare.config.fifo import collect_fifo
from fairshare.config.manager import read_manager
from fairshare.config.problems import Place, Problem, Problems
from fairshare.config.scheduler_choice import SchedulerName, choose_scheduler
from fairshare.config.shell import ShellSettings
from fairshare.config.site import Site
from fairshare.config.site_files import read_site
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.fifo.settings import FifoSettings

SITE_FILES: Final = ("core-site.xml", "yarn-site.xml", "mapred-site.xml", "resource-types.xml")
CAPACITY_FILE: Final = "capacity-scheduler.xml"
WEB_ADDRESS: Final = "yarn.resourcemanager.webapp.address"

_REMOTE: Final = frozenset({"hdfs", "s3a", "viewfs"})
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})


class Configuration(msgspec.Struct, frozen=True):
    """All that a configuration directory says.

    Exactly the settings of `scheduler` are there. `allocation_path` is the file to look at for
    changes; None: there is none. `problems` are warnings and traps.
    """

    scheduler: SchedulerName
    types: ResourceTypes
    site: Site
    shell: ShellSettings
    fair: FairSettings | None = None
    fifo: FifoSettings | None = None
    allocation_path: Path | None = None
    heartbeat_interval_ms: int = 1_000
    master_max_attempts: int = 2
    problems: tuple[Problem, ...] = ()


def read_directory(
    path: str | Path,
    policies: Collection[str] = BUILT_IN_POLICIES,
    scheduler: Literal["fair", "fifo"] | None = None,
) -> Configuration:
    """Read a configuration directory; raises ConfigurationError with all problems of all files.

    Properties come from core-site.xml, yarn-site.xml, mapred-site.xml and resource-types.xml, as
    far as they exist, a later one before an earlier one. `policies` are the names of scheduling
    policies that the allocation file may use, in lower case. `scheduler` is chosen whatever the
    properties say; None: they choose.
    """
    directory = Path(path)
    problems = Problems()
    if not directory.is_dir():
        problems.error(Place(str(directory)), "directory", "there is no such directory")
        problems.raise_errors()
    documents = []
    for name in SITE_FILES:
        document = _read(directory / name, problems)
        if document is not None:
            documents.append((str(directory / name), document))
    site = read_site(documents, problems, os.environ)
    toml = directory / shell.FILE
    shell_settings = shell.read_shell(
        _read(toml, problems), str(toml), problems, _web_port(site, problems)
    )
    chosen = scheduler or choose_scheduler(
        site,
        str(directory),
        ALLOCATION_FILE in site or (directory / DEFAULT_ALLOCATION_FILE).is_file(),
        (directory / CAPACITY_FILE).is_file(),
        problems,
    )
    manager = read_manager(site, problems)
    fair, fifo, allocation_path = None, None, None
    if chosen == "fair":
        allocation_path, document = _allocation_file(directory, site, problems)
        name = str(allocation_path or directory / DEFAULT_ALLOCATION_FILE)
        fair = collect_fair(site, document, name, problems, policies)
    elif chosen == "fifo":
        fifo = collect_fifo(site, problems)
    problems.raise_errors()
    assert chosen is not None, "without a scheduler there is an error, which has been raised"
    return Configuration(
        scheduler=chosen,
        types=manager.types,
        site=site,
        shell=_absolute_state(shell_settings, directory),
        fair=fair,
        fifo=fifo,
        allocation_path=allocation_path,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        master_max_attempts=manager.master_max_attempts,
        problems=problems.all,
    )


def _read(path: Path, problems: Problems) -> bytes | None:
    """A file's bytes; None if there is no such file, or if it cannot be read, which is told."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
        return None


def _allocation_file(
    directory: Path, site: Site, problems: Problems
) -> tuple[Path | None, bytes | None]:
    """The allocation file and its bytes, as spec/fair.md 5.1 finds it."""
    written = site.string(ALLOCATION_FILE, DEFAULT_ALLOCATION_FILE, problems)
    place = site.place(ALLOCATION_FILE)
    address = urlsplit(written)
    scheme = address.scheme.lower()
    if scheme in _REMOTE:
        problems.error(
            place,
            "allocation-file",
            f"{written} is on a remote file system: copy it into {directory}",
            "reads it there",
        )
        return None, None
    if scheme not in ("", "file"):
        problems.error(
            place,
            "allocation-file",
            f"{written}: only local files can be read, not {scheme}",
            "does not start",
        )
        return None, None
    path = Path(unquote(address.path) if scheme else written)
    found = directory / path  # an absolute path stays as it is
    document = _read(found, problems)
    if document is not None:
        return found, document
    if path.is_absolute():
        problems.error(
            place, "allocation-file", f"there is no allocation file {path}", "does not start"
        )
    else:
        problems.warning(
            Place(str(found)),
            "allocation-file",
            "there is no such file: all queues have their defaults, and only root exists",
            "warns and goes on without",
        )
    return None, None


def _web_port(site: Site, problems: Problems) -> int | None:
    """The port of YARN's web address. Its host is that of another machine, and is not taken."""
    written = site.string(WEB_ADDRESS, "", problems)
    if not written:
        return None
    host, _, digits = written.rpartition(":")
    place = site.place(WEB_ADDRESS)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 5 and int(digits) <= 65535):
        message = f"{WEB_ADDRESS}: {written!r} must be host:port"
        problems.error(place, "web-address", message, "does not start")
        return None
    if host not in _LOOPBACK:
        problems.warning(
            place,
            "web-address",
            f"only the port {digits} of {written!r} is taken: to listen elsewhere than on"
            f" 127.0.0.1, set host below [server] in {shell.FILE}",
            "listens there",
        )
    return int(digits)


def _absolute_state(settings: ShellSettings, directory: Path) -> ShellSettings:
    """A relative state directory counts from the configuration directory."""
    written = settings.server.state_directory
    if written is None:
        return settings
    state = str(directory.absolute() / Path(written).expanduser())
    server = msgspec.structs.replace(settings.server, state_directory=state)
    return msgspec.structs.replace(settings, server=server)
