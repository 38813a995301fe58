"""Owns a configuration directory as Hadoop's: which files are read, and what comes out of them.

The only part of this room that opens files. Knows nothing of what a server does with the result.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from fairshare.config import node_labels, shell
from fairshare.config.certificates import check_certificate
from fairshare.config.manager import read_manager
from fairshare.config.node_manager import read_node_manager
from fairshare.config.problems import Place, Problems
from fairshare.config.shell import ShellSettings
from fairshare.config.site import Site
from fairshare.config.site_files import file_reader, include_reader, read_site
from fairshare.config.user_groups import read_user_groups
from fairshare.config.web import read_web
from fairshare.families.capacity.monitor import read_auto_refresh
from fairshare.families.capacity.reading import CAPACITY_FILE, collect_capacity
from fairshare.families.capacity.site_file import read_capacity_site, written_properties
from fairshare.families.capacity.store import read_store
from fairshare.families.choice import SchedulerName, choose_scheduler
from fairshare.families.configuration import Configuration
from fairshare.families.fair.reading import ALLOCATION_FILE, DEFAULT_ALLOCATION_FILE, collect_fair
from fairshare.families.fifo.reading import collect_fifo
from fairshare.families.pools.reading import ALLOCATION_FILE as POOLS_FILE_KEY
from fairshare.families.pools.reading import collect_pools, read_node_slots, with_slots
from fairshare.families.store import STORED, ConfigurationStore
from fairshare.schedulers.capacity.settings import CapacitySettings

SITE_FILES: Final = ("core-site.xml", "yarn-site.xml", "mapred-site.xml", "resource-types.xml")
WEB_ADDRESS: Final = "yarn.resourcemanager.webapp.address"

_REMOTE: Final = frozenset({"hdfs", "s3a", "viewfs"})
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})


def read_directory(
    path: str | Path,
    policies: Collection[str] | None = None,
    scheduler: SchedulerName | None = None,
    stored: Mapping[str, str] | None = None,
) -> Configuration:
    """Read a configuration directory; raises ConfigurationError with all problems of all files.

    Properties come from core-site.xml, yarn-site.xml, mapred-site.xml and resource-types.xml, as
    far as they exist, a later one before an earlier one; for the Capacity Scheduler then from
    capacity-scheduler.xml. `policies` are the names of scheduling
    policies that the allocation file may use, in lower case; None: all that there are. `scheduler`
    is chosen whatever the properties say; None: they choose. `stored` are properties that hold
    instead of those of capacity-scheduler.xml.
    """
    problems = Problems()
    configuration = collect_directory(Path(path), problems, policies, scheduler, stored)
    problems.raise_errors()
    assert configuration is not None, "without one there is an error, which has been raised"
    return msgspec.structs.replace(configuration, problems=problems.all)


def collect_directory(
    directory: Path,
    problems: Problems,
    policies: Collection[str] | None = None,
    scheduler: SchedulerName | None = None,
    stored: Mapping[str, str] | None = None,
) -> Configuration | None:
    """As `read_directory`, but errors are only added to the problems; None: no scheduler is chosen.

    What an error stands for has its default in the result, whose own `problems` are empty.
    """
    if not directory.is_dir():
        problems.error(Place(str(directory)), "directory", "there is no such directory")
        return None
    documents = []
    for name in SITE_FILES:
        document = _read(directory / name, problems)
        if document is not None:
            documents.append((str(directory / name), document))
    site = read_site(documents, problems, os.environ, include_reader(directory))
    _look_for_files(directory, problems)
    chosen = scheduler or choose_scheduler(
        site,
        str(directory),
        ALLOCATION_FILE in site or (directory / DEFAULT_ALLOCATION_FILE).is_file(),
        (directory / CAPACITY_FILE).is_file(),
        problems,
    )
    store = ConfigurationStore()
    if chosen == "capacity":
        base = site
        if stored is None:
            site = read_capacity_site(directory, documents, problems, os.environ)
        else:
            site = base.with_values(stored, STORED)
        store = read_store(site, base, written_properties(directory, stored), problems)
    toml = directory / shell.FILE
    toml_document = _read(toml, problems)
    shell_settings = shell.read_shell(toml_document, str(toml), problems, _web_port(site, problems))
    manager = read_manager(site, problems)
    types = with_slots(manager.types) if chosen == "pools" else manager.types
    shell.check_resources(shell_settings, types, toml_document, str(toml), problems)
    located = _absolute_paths(shell_settings, directory)
    check_certificate(located.server, toml_document, str(toml), problems)
    node_manager = read_node_manager(site, problems)
    users = shell_settings.users
    groups = read_user_groups(
        site, problems, chosen=bool(users.groups_file or users.groups_command)
    )
    if chosen is None:
        return None
    if chosen == "pools":
        shell_settings = _with_node_slots(shell_settings, site, problems)
    return Configuration(
        scheduler=chosen,
        types=types,
        site=site,
        shell=_absolute_paths(shell_settings, directory),
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        container_expiry_ms=manager.container_expiry_ms,
        max_completed_applications=manager.max_completed_applications,
        master_max_attempts=manager.master_max_attempts,
        directory=directory,
        node_manager=node_manager,
        groups=groups,
        acl_enabled=manager.acl_enabled,
        web=read_web(site, problems),
        store=store,
        **_scheduler_settings(chosen, directory, site, shell_settings, problems, policies),
    )


def _scheduler_settings(
    chosen: SchedulerName,
    directory: Path,
    site: Site,
    settings: ShellSettings,
    problems: Problems,
    policies: Collection[str] | None,
) -> dict[str, Any]:
    """The fields of a configuration that only one scheduler has."""
    if chosen == "fifo":
        return {"fifo": collect_fifo(site, problems)}
    if chosen == "capacity":
        auto_refresh_ms = read_auto_refresh(site, problems)
        name = str(directory / CAPACITY_FILE)
        capacity = collect_capacity(site, problems, name, file_reader(directory))
        labelled = _with_labels(capacity, settings, directory, problems)
        return {"capacity": labelled, "auto_refresh_ms": auto_refresh_ms}
    key = POOLS_FILE_KEY if chosen == "pools" else ALLOCATION_FILE
    path, document = _allocation_file(directory, site, problems, key)
    name = str(path or directory / DEFAULT_ALLOCATION_FILE)
    if chosen == "pools":
        pools = collect_pools(site, document, name, problems, settings.pools)
        return {"pools": pools, "allocation_path": path}
    fair = collect_fair(site, document, name, problems, policies)
    return {"fair": fair, "allocation_path": path}


def _with_labels(
    capacity: CapacitySettings, settings: ShellSettings, directory: Path, problems: Problems
) -> CapacitySettings:
    """The settings with the node labels of fairshare.toml."""
    tables = settings.labels
    if tables.labels and not capacity.labels_enabled:
        problems.error(
            Place(str(directory / shell.FILE)),
            "node-labels",
            f"[labels] needs {node_labels.ENABLED} in yarn-site.xml",
        )
    return msgspec.structs.replace(capacity, labels=tables.labels, label_of_node=tables.nodes)


def _look_for_files(directory: Path, problems: Problems) -> None:
    """Say so when a directory has no file that would be read: another one may be meant."""
    names = (*SITE_FILES, DEFAULT_ALLOCATION_FILE, CAPACITY_FILE, shell.FILE)
    if not any((directory / name).exists() for name in names):
        problems.warning(
            Place(str(directory)),
            "no-configuration",
            f"there is no configuration in this directory, neither {', '.join(names[:-1])} nor"
            f" {names[-1]}: everything has its default. Is another directory meant?",
            "starts with its defaults",
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


def _with_node_slots(settings: ShellSettings, site: Site, problems: Problems) -> ShellSettings:
    """The slots of a node are those of its task tracker, unless fairshare.toml says otherwise."""
    resources = {**read_node_slots(site, problems), **settings.engine.resources}
    engine = msgspec.structs.replace(settings.engine, resources=resources)
    return msgspec.structs.replace(settings, engine=engine)


def _allocation_file(
    directory: Path, site: Site, problems: Problems, key: str = ALLOCATION_FILE
) -> tuple[Path | None, bytes | None]:
    """The allocation file and its bytes, as spec/fair.md 5.1 finds it."""
    written = site.string(key, DEFAULT_ALLOCATION_FILE, problems)
    place = site.place(key)
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


def _absolute_paths(settings: ShellSettings, directory: Path) -> ShellSettings:
    """Relative paths in fairshare.toml count from the configuration directory."""

    def absolute(written: str | None) -> str | None:
        if written is None:
            return None
        return str(directory.absolute() / Path(written).expanduser())

    server, users = settings.server, settings.users
    return msgspec.structs.replace(
        settings,
        server=msgspec.structs.replace(
            server,
            state_directory=absolute(server.state_directory),
            certificate=absolute(server.certificate),
            key=absolute(server.key),
        ),
        users=msgspec.structs.replace(users, groups_file=absolute(users.groups_file)),
    )
