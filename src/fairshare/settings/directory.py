"""A configuration directory as Hadoop's: which files are read, which scheduler they mean, and what
comes out of them; when it is read again, what may change, and what needs a restart.

The certificate of `[server]` is checked here, so that a mistake has a file and a line, and no
server stops in the middle of its start.
"""

import os
import ssl
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.gpus import GPU, GpuSetting
from fairshare.documents.located import Node
from fairshare.documents.problems import Place, Problems
from fairshare.documents.toml_tree import read_toml
from fairshare.errors import ConfigurationError
from fairshare.settings import shell
from fairshare.settings.configuration import Configuration, ConfigurationStore, Refreshed
from fairshare.settings.engines import runs_here
from fairshare.settings.family import CLASS, TASK_SCHEDULER, AnyFamily, Source
from fairshare.settings.known_names import report_unknown
from fairshare.settings.manager import read_manager
from fairshare.settings.nodes import read_node_manager, report_other_sizes
from fairshare.settings.own_sections import OWN_SECTIONS
from fairshare.settings.registry import HADOOP_DEFAULT, all_families, family_of, section_types
from fairshare.settings.resource_types import RESOURCE_TYPES, gpus_of, maximum_key, with_types
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.shell import ServerSettings, ShellSettings, with_own_sections
from fairshare.settings.site import Site
from fairshare.settings.site_files import include_reader, read_file, read_site
from fairshare.settings.user_groups import read_user_groups
from fairshare.settings.web import read_web
from fairshare.wording import cause

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_certificate(server: ServerSettings, root: Node, problems: Problems) -> None:
    """Report what keeps a server from speaking TLS. The paths are absolute; `root` is the document
    that names them."""

    def place(key: str) -> Place:
        return root.find("server", key)

    certificate, key = server.certificate, server.key
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        present, missing = ("certificate", "key") if key is None else ("key", "certificate")
        problems.error(
            place(present),
            "tls",
            f"{present} without {missing}: TLS needs both; name the {missing} below [server] too",
        )
        return
    unreadable = False
    for name, path in (("certificate", certificate), ("key", key)):
        try:
            with Path(path).open("rb") as file:
                file.read(1)
        except OSError as error:
            unreadable = True
            problems.error(place(name), "tls", f"{name}: cannot read {path}: {cause(error)}")
    if unreadable:
        return
    if Path(key).stat().st_mode & _OTHERS:
        problems.warning(
            place("key"), "tls", f"{key} can be read by others than its owner: chmod 600 {key}"
        )
    reason = _unusable(certificate, key)
    if reason:
        problems.error(
            place("certificate"),
            "tls",
            f"TLS is not possible with {certificate} and {key}: {reason}",
        )


def _unusable(certificate: str, key: str) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # OpenSSL would ask for a password on the terminal, where no user waits.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            return "the key is not that of the certificate"
        return (
            "they are not a certificate and its key in PEM form, or the key has a password"
            f" ({error.reason or error})"
        )
    except (OSError, ValueError) as error:
        return f"the key has a password, which a server cannot type ({cause(error)})"
    return ""


_USUAL: Final = ResourceTypes()
_KEYS: Final = (CLASS, TASK_SCHEDULER)


def names_scheduler(site: Site) -> bool:
    """Whether a property names a scheduler."""
    return any(key in site for key in _KEYS)


def choose_family(site: Site, directory: Path, problems: Problems) -> AnyFamily | None:
    """The scheduler that the properties name; else the one with the strongest claim; else Hadoop's.

    None: an error among the problems says why there is no scheduler.
    """
    named = _named(site, problems)
    if named:
        return _of_class(named, site, problems)
    claims = [
        (claim.strength, family, claim)
        for family in all_families().values()
        if (claim := family.claim(site, directory)) is not None
    ]
    if not claims:
        return family_of(HADOOP_DEFAULT)
    _, family, claim = max(claims, key=lambda found: found[0])
    if claim.reason:
        problems.trap(
            claim.place,
            "scheduler",
            f"no property names a scheduler: {family.name}, because {claim.reason}."
            f" Set {claim.advice} to say so",
            f"starts the {family_of(HADOOP_DEFAULT).title}",
        )
    return family


def named_family(site: Site, problems: Problems) -> AnyFamily | None:
    """The scheduler that a property names; Hadoop's if none does; None as in `choose_family`."""
    named = _named(site, problems)
    return _of_class(named, site, problems) if named else family_of(HADOOP_DEFAULT)


def _named(site: Site, problems: Problems) -> list[tuple[str, str]]:
    return [(key, name) for key in _KEYS if (name := site.string(key, "", problems))]


def _of_class(named: list[tuple[str, str]], site: Site, problems: Problems) -> AnyFamily | None:
    """The scheduler of the first property, by its Java class."""
    for key, _ in named[1:]:
        problems.warning(
            site.place(key), "scheduler", f"{key} has no effect, because {named[0][0]} is set"
        )
    key, written = named[0]
    known = {
        name: family
        for family in all_families().values()
        for chosen_by, name in family.classes
        if chosen_by == key
    }
    if written not in known:
        message = f"{key}: there is no scheduler {written!r} (there are {', '.join(known)})"
        problems.error(site.place(key), "scheduler", message, "starts any class that it finds")
    return known.get(written)


SITE_FILES: Final = ("core-site.xml", "yarn-site.xml", "mapred-site.xml", "resource-types.xml")
WEB_ADDRESS: Final = "yarn.resourcemanager.webapp.address"

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})


def read_directory(
    path: str | Path,
    scheduler: str | None = None,
    stored: Mapping[str, str] | None = None,
    gpus: GpuSetting | None = None,
    counted: ResourceTypes = _USUAL,
) -> Configuration:
    """Read a configuration directory; raises ConfigurationError with all problems of all files.

    Properties come from core-site.xml, yarn-site.xml, mapred-site.xml and resource-types.xml, as
    far as they exist, a later one before an earlier one, and then from the scheduler's own file
    where it has properties. `scheduler` is chosen whatever the properties say; None: they choose.
    `stored` are properties that hold instead of those of the scheduler's own file. `gpus` is
    assigned whatever fairshare.toml says. `counted` are the types of an existing state, which has
    them whether they are declared or not.
    """
    problems = Problems()
    configuration = collect_directory(Path(path), problems, scheduler, stored, gpus, counted)
    if configuration is not None:
        report_unknown(configuration.site, problems)
    problems.raise_errors()
    assert configuration is not None, "without one there is an error, which has been raised"
    return msgspec.structs.replace(configuration, problems=problems.all)


def collect_directory(
    directory: Path,
    problems: Problems,
    scheduler: str | None = None,
    stored: Mapping[str, str] | None = None,
    gpus: GpuSetting | None = None,
    counted: ResourceTypes = _USUAL,
) -> Configuration | None:
    """As `read_directory`, but errors are only added to the problems; None: no scheduler is chosen.

    A setting with an error has its default in the result, whose own `problems` are empty.
    """
    if not directory.is_dir():
        problems.error(Place(str(directory)), "directory", "there is no such directory")
        return None
    read = ((str(directory / name), read_file(directory / name, problems)) for name in SITE_FILES)
    documents = [(name, document) for name, document in read if document is not None]
    site = read_site(documents, problems, os.environ, include_reader(directory))
    _look_for_files(directory, problems)
    family = family_of(scheduler) if scheduler else choose_family(site, directory, problems)
    toml = directory / shell.FILE
    sound = len(problems.errors)
    root = read_toml(read_file(toml, problems) or b"", str(toml), problems)
    unread = len(problems.errors) > sound
    chosen = "auto" if unread else gpus_of(root)  # what cannot be read may assign GPUs
    assigned = (chosen if gpus is None else gpus) != "none"
    store = ConfigurationStore()
    if family is not None:
        kept = _declared(family, counted)
        if kept or assigned:
            defaults = family.gpu_properties
            documents = with_types(documents, site, kept, defaults, str(toml), gpus=assigned)
            site = read_site(documents, Problems(), os.environ, include_reader(directory))
        site, store = family.read_properties(directory, documents, site, stored, problems)
    port = _web_port(site, problems)
    shell_settings = _with_gpus(shell.read_tree(root, problems, port, section_types()), gpus)
    manager = read_manager(site, problems)
    types = manager.types if family is None else family.resource_types(manager.types)
    shell.check_resources(shell_settings, types, root, problems)
    located = _absolute_paths(shell_settings, directory)
    check_certificate(located.server, root, problems)
    users = shell_settings.users
    chosen_groups = bool(users.groups_file or users.groups_command)
    groups = read_user_groups(site, problems, chosen=chosen_groups)
    if family is None:
        return None
    engine = msgspec.structs.replace(
        located.engine,
        resources={**family.node_resources(site, problems), **located.engine.resources},
    )
    located = msgspec.structs.replace(located, engine=engine)
    if runs_here(engine.kind):
        report_other_sizes(site, engine.memory_mb, engine.vcores, problems)
    found = Problems()
    settings_read = family.read(Source(directory, site, located), found)
    problems.add(one for one in found.all if not unread or GPU not in one.message)
    settings = with_own_sections(
        settings_read.settings, located, types, family.title, root, problems
    )
    return Configuration(
        scheduler=family.name,
        types=types,
        site=site,
        shell=located,
        settings=settings,
        allocation_path=settings_read.file,
        auto_refresh_ms=settings_read.auto_refresh_ms,
        heartbeat_interval_ms=manager.heartbeat_interval_ms,
        container_expiry_ms=manager.container_expiry_ms,
        max_completed_applications=manager.max_completed_applications,
        master_max_attempts=manager.master_max_attempts,
        directory=directory,
        node_manager=read_node_manager(site, problems),
        groups=groups,
        acl_enabled=manager.acl_enabled,
        web=read_web(site, problems),
        store=store,
        gpus=gpus,
        counted=counted,
    )


def _declared(family: AnyFamily, types: ResourceTypes) -> dict[str, str]:
    """The units of those types that a site declares: not of those that it always has."""
    own = family.resource_types(_USUAL).names
    return {
        name: unit for name, unit in zip(types.names, types.units, strict=True) if name not in own
    }


def _look_for_files(directory: Path, problems: Problems) -> None:
    """Say so when a directory has no file that would be read: another one may be meant."""
    own = dict.fromkeys(name for family in all_families().values() for name in family.files)
    names = (*SITE_FILES, *own, shell.FILE)
    if not any((directory / name).exists() for name in names):
        problems.warning(
            Place(str(directory)),
            "no-configuration",
            f"there is no configuration in this directory, neither {', '.join(names[:-1])} nor"
            f" {names[-1]}: everything has its default. Is another directory meant?",
            "starts with its defaults",
        )


def _with_gpus(settings: ShellSettings, gpus: GpuSetting | None) -> ShellSettings:
    """The settings with the GPUs of an option, if it is given."""
    if gpus is None:
        return settings
    engine = msgspec.structs.replace(settings.engine, gpus=gpus)
    return msgspec.structs.replace(settings, engine=engine)


def _web_port(site: Site, problems: Problems) -> int | None:
    """The port of YARN's web address. Its host is that of another machine, and is not taken."""
    written = site.string(WEB_ADDRESS, "", problems)
    if not written:
        return None
    host, colon, digits = written.rpartition(":")
    if not colon:
        host, digits = written, "8088"  # as in Hadoop
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


def refresh(
    started: Configuration, in_force: object, stored: Mapping[str, str] | None = None
) -> Refreshed:
    """Read the whole directory again, and take over what may change.

    `started` is what the server was started with, `in_force` the scheduler's settings now;
    `stored` holds instead of what the scheduler's own file says. Raises ConfigurationError with all
    problems.
    """
    chosen = started.gpus, started.counted
    now = read_directory(started.directory, started.scheduler, stored, *chosen)
    problems = Problems()
    if now.types != started.types:
        problems.error(
            now.site.place(RESOURCE_TYPES),
            "resource-type",
            f"the resource types cannot change while the server runs (they are"
            f" {', '.join(started.types.names)}): start it again",
            "takes them at its start alone",
        )
        raise ConfigurationError(problems.all)
    family = family_of(started.scheduler)
    settings = family.refreshed(started, in_force, now, problems)
    problems.raise_errors()
    followed = [name for name in OWN_SECTIONS if name in now.settings.__struct_fields__]
    settings = msgspec.structs.replace(
        settings, **{name: getattr(now.settings, name) for name in followed}
    )
    restart = tuple(_needs_restart(started, now))
    return Refreshed(settings, restart, now.problems, now.store)


def _needs_restart(started: Configuration, now: Configuration) -> Iterator[str]:
    refreshed = {
        key
        for name in started.types.names
        for key in (maximum_key(started.site, name), maximum_key(now.site, name))
    }
    before = {found.name: found.value for found in started.site}
    after = {found.name: found.value for found in now.site}
    family = family_of(started.scheduler)
    for name in sorted((_honoured(started.site) | _honoured(now.site)) - refreshed):
        if before.get(name) != after.get(name) and not family.is_refreshed(name):
            yield name
    yield from _changed_keys(started.shell, now.shell)


def _honoured(site: Site) -> set[str]:
    """The names of the properties that some reader asked for."""
    return {found.name for found in site} - {found.name for found in site.unread("")}


def _changed_keys(before: ShellSettings, now: ShellSettings) -> Iterator[str]:
    old: dict[str, dict[str, Any]] = msgspec.to_builtins(before)
    new: dict[str, dict[str, Any]] = msgspec.to_builtins(now)
    old |= old.pop("sections")
    new |= new.pop("sections")
    for section, keys in new.items():
        if section in OWN_SECTIONS:
            continue
        for key, value in keys.items():
            if old[section][key] != value:
                yield f"{SHELL_FILE}: {key} below [{section}]"
