"""Owns fairshare.toml: what Hadoop has no name for, with its defaults.

Knows nothing of what a server or an engine does with the values.
"""

import ipaddress
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from fairshare.config import accounting, label_tables
from fairshare.config.accounting import AccountingSettings
from fairshare.config.label_tables import LabelTables
from fairshare.config.limits import RANGES, LimitSettings
from fairshare.config.notify import SECURITIES, NotifySettings
from fairshare.config.problems import Place, Problems
from fairshare.config.toml_places import place_of
from fairshare.documents.durations import parse_duration
from fairshare.documents.gpus import GPU, GpuSetting, wrong_gpus
from fairshare.documents.sizes import parse_size
from fairshare.model.resources import MEMORY, VCORES, ResourceTypes

FILE: Final = "fairshare.toml"
RESOURCES: Final = "engine.resources"


SectionReader = Callable[[Mapping[str, Any], Callable[[str, str], None]], Any]
"""Reads a table of its own; the function that it gets reports a key and what is wrong with it. What
is wrong has its default."""


class ServerSettings(msgspec.Struct, frozen=True):
    """Where the server listens and keeps its record; None: the server's own choice of a place.

    `names` are those by which it is called from elsewhere (`cluster.example.org`). With
    `certificate` and `key`, two PEM files, it speaks TLS. `socket` is the path of a Unix socket on
    which it listens too, open to all accounts of the machine, or to those of `socket_group`.
    The log has lines of text, or of JSON (`log_format`).
    """

    host: str = "127.0.0.1"
    port: int = 8088  # 0: any that is free
    state_directory: str | None = None
    names: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    socket: str | None = None
    socket_group: str | None = None
    log_format: Literal["text", "json"] = "text"


class EngineSettings(msgspec.Struct, frozen=True):
    """What runs containers. Sizes are those of one node; None: what this machine has.

    `run_as` is whose processes they are: the server's (`server`), or those of the user who
    submitted the application (`user`), for which the server has to be root.

    `reservations` says whether a node is kept free for a container that does not fit yet: as in
    Hadoop (`on`), never (`off`), or on every cluster but one of a single node (`auto`).

    `resources` are the amounts of further types that one node offers. Of what a container prints,
    `log_limit_mb` are kept of each stream, its beginning and its end; 0: all. The folders of all
    containers of an application may take `application_disk_mb` of the disk, those of a user
    `user_disk_mb`; 0: all. A container may have `process_limit` processes and threads; 0: any.

    `gpus` are those that are assigned to containers, each to one: all that this machine has
    (`auto`), so many of them, those with these names, or none.

    Containers with a terminal end after `interactive_idle_s` in which nothing was typed, printed or
    computed (0: never), or `interactive_detached_s` without a user who is attached. Queues and
    those below them may have a time of their own in `interactive_idle_by_queue_s`.
    `image_program` runs commands in images: podman, docker, apptainer, singularity, a path of one,
    `auto` for the first of them that the machine has, or `none`. `image_options` are added to its
    command line, before the image.
    """

    kind: Literal["local", "nodemanagers", "ray"] = "local"
    nodes: int = 1
    memory_mb: int | None = None
    vcores: int | None = None
    resources: dict[str, int] = {}
    log_limit_mb: int = 256
    run_as: Literal["server", "user"] = "server"
    reservations: Literal["auto", "on", "off"] = "auto"
    application_disk_mb: int = 0
    user_disk_mb: int = 0
    process_limit: int = 8192
    gpus: GpuSetting = "none"
    interactive_idle_s: int = 3600
    interactive_detached_s: int = 60
    interactive_idle_by_queue_s: dict[str, int] = {}
    image_program: str = "auto"
    image_options: tuple[str, ...] = ()


class HadoopSettings(msgspec.Struct, frozen=True):
    """Whether Hadoop's own clients and nodes are served, over Hadoop's RPC (`enabled`).

    `auto`: if the extra fairshare[hadoop] is installed, `port` is not 0, and callers need no proof
    ([authentication]). Callers say who they are, and are believed, as in any Hadoop cluster without
    Kerberos; so these ports are on loopback unless `open_to_network` says otherwise.
    """

    enabled: Literal["auto", "yes", "no"] = "auto"
    open_to_network: bool = False


class RaySettings(msgspec.Struct, frozen=True):
    """The Ray cluster of the engine `ray`. `address` is that of its head, `auto`: of a cluster that
    was started on this machine.

    Containers of a node that may be cut off are stopped after `fence_s`; the node is lost later.
    The value of the Ray label `partition_label` is the node's label here (partition); empty: none.
    Ray's autoscaler is asked for nodes while containers wait, up to a cluster of
    `autoscale_vcores`; 0: never.
    """

    address: str = "auto"
    fence_s: int = 15
    partition_label: str = ""
    autoscale_vcores: int = 0


class WatchSettings(msgspec.Struct, frozen=True):
    """How the allocation file is looked after while the server runs; the defaults are Hadoop's.

    A change is taken over when the file has been left alone for `settle_ms`.
    """

    check_interval_ms: int = 10_000
    settle_ms: int = 5_000


class UserSettings(msgspec.Struct, frozen=True):
    """Where the groups of users come from; at most one is set, else the operating system says.

    In `groups_command` the word `{user}` is replaced by the user.
    """

    groups_file: str | None = None
    groups_command: tuple[str, ...] | None = None


class AuthenticationSettings(msgspec.Struct, frozen=True):
    """How callers prove who they are; without either they cannot, and the server listens on
    loopback alone.

    With `tokens` by one that `fairshare admin token create` has made. Of the addresses in `proxies`
    (IP addresses or networks) the header `proxy_header` is believed. With `socket` only callers of
    the Unix socket, whose accounts the kernel names, need nothing else.
    """

    tokens: bool = False
    socket: bool = False
    proxies: tuple[str, ...] = ()
    proxy_header: str = "X-Forwarded-User"

    @property
    def required(self) -> bool:
        """Whether every caller needs a proof."""
        return self.tokens or self.socket or bool(self.proxies)


class RetentionSettings(msgspec.Struct, frozen=True):
    """How long a server remembers.

    Of the applications that are over, those are kept that are among the last
    `finished_applications` and ended less than `finished_hours` ago. The journal keeps the last
    `records` of its records, or a little more: whole stretches between two snapshots go. Fewer stay
    where its file has more than `journal_mb` in use. After `snapshot_records` new ones there is a
    snapshot: a start reads no more than these.
    """

    finished_applications: int | None = (
        None  # None: as yarn-site.xml says, which is 1,000 if silent
    )
    finished_hours: int = 24 * 7
    records: int = 1_000_000
    journal_mb: int = 4096
    snapshot_records: int = 25_000


class ShellSettings(msgspec.Struct, frozen=True):
    """Everything of fairshare.toml."""

    server: ServerSettings = ServerSettings()
    engine: EngineSettings = EngineSettings()
    hadoop: HadoopSettings = HadoopSettings()
    ray: RaySettings = RaySettings()
    configuration: WatchSettings = WatchSettings()
    users: UserSettings = UserSettings()
    retention: RetentionSettings = RetentionSettings()
    authentication: AuthenticationSettings = AuthenticationSettings()
    limits: LimitSettings = LimitSettings()
    accounting: AccountingSettings = AccountingSettings()
    notify: NotifySettings = NotifySettings()
    labels: LabelTables = LabelTables()
    sections: dict[str, Any] = {}
    """What the readers of schedulers' own sections have made of them, by name."""


class _Key(msgspec.Struct, frozen=True):
    """The type of a value, and the smallest and largest if it is a number."""

    kind: type = str
    least: int = 0
    most: int = 0


_DAY_MS: Final = 86_400_000
_TEXT: Final = _Key()
_KEYS: Final[dict[str, dict[str, _Key]]] = {
    "server": {
        "host": _TEXT,
        "port": _Key(int, 0, 65535),
        "state_directory": _TEXT,
        "names": _Key(list),
        "certificate": _TEXT,
        "key": _TEXT,
        "socket": _TEXT,
        "socket_group": _TEXT,
        "log_format": _TEXT,
    },
    "engine": {
        "kind": _TEXT,
        "run_as": _TEXT,
        "reservations": _TEXT,
        "nodes": _Key(int, 1, 10_000),
        "memory_mb": _Key(int, 1, 2**40),
        "vcores": _Key(int, 1, 2**31 - 1),
        "resources": _Key(dict, 0, 2**53),
        "log_limit_mb": _Key(int, 0, 2**30),
        "application_disk_mb": _Key(int, 0, 2**40),
        "user_disk_mb": _Key(int, 0, 2**40),
        "process_limit": _Key(int, 0, 2**22),
        "gpus": _Key(object),
        "interactive_idle_s": _Key(int, 0, 10**8),
        "interactive_detached_s": _Key(int, 1, 10**8),
        "interactive_idle_by_queue_s": _Key(dict, 0, 10**8),
        "image_program": _TEXT,
        "image_options": _Key(list),
    },
    "ray": {
        "address": _TEXT,
        "fence_s": _Key(int, 5, 86_400),
        "partition_label": _TEXT,
        "autoscale_vcores": _Key(int, 0, 2**31 - 1),
    },
    "hadoop": {"enabled": _TEXT, "open_to_network": _Key(bool)},
    "configuration": {
        "check_interval_ms": _Key(int, 10, _DAY_MS),
        "settle_ms": _Key(int, 0, _DAY_MS),
    },
    "retention": {
        "finished_applications": _Key(int, 0, 10_000_000),
        "finished_hours": _Key(int, 1, 1_000_000),
        "records": _Key(int, 1_000, 2**40),
        "journal_mb": _Key(int, 16, 2**30),
        "snapshot_records": _Key(int, 100, 10_000_000),
    },
    "accounting": {name: _Key(int, *bounds) for name, bounds in accounting.RANGES.items()},
    "notify": {
        "webhooks": _Key(list),
        "smtp_host": _TEXT,
        "smtp_port": _Key(int, 1, 65535),
        "smtp_security": _TEXT,
        "smtp_from": _TEXT,
        "smtp_user": _TEXT,
        "smtp_password_file": _TEXT,
        "mail_domains": _Key(list),
        "commands": _Key(bool),
        "command": _Key(list),
    },
    "users": {"groups_file": _TEXT, "groups_command": _Key(list)},
    "limits": {name: _Key(int, least, most) for name, (least, most) in RANGES.items()},
    "authentication": {
        "tokens": _Key(bool),
        "socket": _Key(bool),
        "proxies": _Key(list),
        "proxy_header": _TEXT,
    },
}
_UNITS: Final[dict[str, Callable[[str], int]]] = {
    "_ms": lambda text: parse_duration(text, "ms"),
    "_s": lambda text: parse_duration(text, "s"),
    "_hours": lambda text: parse_duration(text, "h"),
    "_days": lambda text: parse_duration(text, "d"),
    "_kb": lambda text: parse_size(text, "KB"),
    "_mb": parse_size,
}
"""How a text is read as a number, by the unit with which the name of its key ends."""
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "log_format": ("text", "json"),
    "reservations": ("auto", "on", "off"),
    "run_as": ("server", "user"),
    "enabled": ("auto", "yes", "no"),
    "smtp_security": SECURITIES,
}
"""The words that a text may be, by its key."""
_KINDS: Final = ("local", "nodemanagers", "ray")
_WORDS: Final = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list of texts",
    dict: "a table of numbers by name",
}
_USER_WORD: Final = "{user}"


def read_shell(
    document: bytes | None,
    file: str,
    problems: Problems,
    default_port: int | None = None,
    readers: Mapping[str, SectionReader] | None = None,
) -> ShellSettings:
    """The settings of a fairshare.toml; None: there is no such file.

    `default_port` is the port that counts when the file names none. `readers` are those of sections
    that belong to schedulers, by the section's name.
    """
    text, tables = _parse(document or b"", file, problems)
    values: dict[str, dict[str, Any]] = {section: {} for section in _KEYS}
    readers = readers or {}
    sections = {name: read({}, lambda key, message: None) for name, read in readers.items()}
    for section, table in tables.items():
        if section in label_tables.SECTIONS:
            continue
        if section in readers and isinstance(table, dict):
            report = _reporter(text, file, section, problems)
            sections[section] = readers[section](table, report)
            continue
        keys = _KEYS.get(section)
        if keys is None or not isinstance(table, dict):
            known = ", ".join(f"[{name}]" for name in (*_KEYS, *readers, *label_tables.SECTIONS))
            place = place_of(text, file, section)
            problems.error(place, "toml-key", f"{section!r} is unknown: there are {known}")
            continue
        for key, value in table.items():
            try:
                value = _with_unit(keys, key, value)
                message = _wrong(section, key, value)
            except ValueError as error:
                message = f"{key}: {error}"
            if message:
                problems.error(place_of(text, file, section, key), "toml-key", message)
            elif isinstance(value, dict):
                where = f"{section}.{key}"
                values[section][key] = _numbers(value, keys[key], where, text, file, problems)
            else:
                values[section][key] = tuple(value) if isinstance(value, list) else value
    _check_together(values, text, file, problems)
    if default_port is not None:
        values["server"].setdefault("port", default_port)
    return ShellSettings(
        ServerSettings(**values["server"]),
        EngineSettings(**values["engine"]),
        HadoopSettings(**values["hadoop"]),
        RaySettings(**values["ray"]),
        WatchSettings(**values["configuration"]),
        UserSettings(**values["users"]),
        RetentionSettings(**values["retention"]),
        AuthenticationSettings(**values["authentication"]),
        LimitSettings(**values["limits"]),
        AccountingSettings(**values["accounting"]),
        NotifySettings(**values["notify"]),
        sections=sections,
        labels=label_tables.read_label_tables(
            tables,
            lambda section, key, message: problems.error(
                place_of(text, file, section, key or None), "toml-key", message
            ),
        ),
    )


def _check_together(
    values: dict[str, dict[str, Any]], text: str, file: str, problems: Problems
) -> None:
    """Report keys that do not go together."""
    if len(values["users"]) > 1:
        problems.error(
            place_of(text, file, "users"),
            "toml-key",
            "groups come from groups_file or from groups_command: write one of both",
        )
    if values["authentication"].get("socket") and "socket" not in values["server"]:
        problems.error(
            place_of(text, file, "authentication", "socket"),
            "toml-key",
            "socket = true needs the path of the socket: write one as socket below [server]",
        )


def _reporter(text: str, file: str, section: str, problems: Problems) -> Callable[[str, str], None]:
    """Reports what is wrong with a key of a section."""

    def report(key: str, message: str) -> None:
        problems.error(place_of(text, file, section, key), "toml-key", message)

    return report


def check_resources(
    settings: ShellSettings,
    types: ResourceTypes,
    document: bytes | None,
    file: str,
    problems: Problems,
) -> None:
    """Report amounts of resource types that the configuration does not have, and amounts of GPUs
    that are assigned: these follow from the machine."""
    for name in settings.engine.resources:
        if settings.engine.gpus != "none" and (name == GPU or name.startswith(GPU + "-")):
            problems.error(
                place_of((document or b"").decode(errors="replace"), file, RESOURCES, name),
                "gpus",
                f"the amount of {name} follows from gpus: leave it out here, or write"
                ' gpus = "none" for GPUs that are counted, and not assigned',
            )
        if name in types.names:
            continue
        further = ", ".join(types.names[2:]) or "no further types"
        problems.error(
            place_of((document or b"").decode(errors="replace"), file, RESOURCES, name),
            "resource-type",
            f"there is no resource type {name!r}: yarn.resource-types names {further}",
        )


def _parse(document: bytes, file: str, problems: Problems) -> tuple[str, dict[str, Any]]:
    text = ""
    try:
        text = document.decode()
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        # Without a place the message says "at end of document".
        last = len(text.splitlines())
        line, column = (int(found.group(1)), int(found.group(2))) if found else (last, 0)
        problems.error(Place(file, line, column), "toml", f"not well-formed TOML: {error}")
    except UnicodeDecodeError as error:
        problems.error(Place(file), "toml", f"the file is not UTF-8: {error}")
    return text, {}


def _numbers(
    table: dict[str, Any], key: _Key, where: str, text: str, file: str, problems: Problems
) -> dict[str, int]:
    """The numbers of a table, such as the amounts of a node by the names of types; what is wrong is
    reported and left out."""
    amounts: dict[str, int] = {}
    for name, value in table.items():
        if where == RESOURCES and name in (MEMORY, VCORES):
            message = f"{name} belongs to [engine], as memory_mb or vcores"
        elif isinstance(value, dict):
            message = f"{name}: write a name with a period in quotation marks"
        else:
            message = _wrong_number(name, value, key)
        if message:
            problems.error(place_of(text, file, where, name), "toml-key", message)
        else:
            amounts[name] = value
    return amounts


def _with_unit(keys: Mapping[str, _Key], key: str, value: Any) -> Any:
    """A value, of which a text with a unit is a number: `settle_ms = "5s"` is 5000."""
    if not isinstance(value, str) or key not in keys or keys[key].kind is not int:
        return value
    parse = _UNITS.get("_" + key.rpartition("_")[2])
    return value if parse is None else parse(value)


def _wrong(section: str, key: str, value: object) -> str:
    """What is wrong with a value; empty if it can be used."""
    keys = _KEYS[section]
    if key not in keys:
        return f"{key!r} is unknown in [{section}]: there are {', '.join(keys)}"
    if keys[key].kind is int:
        return _wrong_number(key, value, keys[key])
    if key == "gpus":
        return wrong_gpus(value)
    if not isinstance(value, keys[key].kind):
        return f"{key} must be {_WORDS[keys[key].kind]}, not {value!r}"
    if isinstance(value, str) and not value.strip():
        return f"{key} must not be empty"
    if isinstance(value, list):
        return _wrong_words(key, value)
    if key == "kind" and value not in _KINDS:
        return f"there is no engine {value!r}: there are {', '.join(_KINDS)}"
    choices = _CHOICES.get(key)
    if choices is not None and value not in choices:
        return f"{key} must be {' or '.join(map(repr, choices))}, not {value!r}"
    return ""


def _wrong_number(name: str, value: object, key: _Key) -> str:
    # In Python a truth value is a whole number, in a file it is a mistake.
    if not isinstance(value, int) or isinstance(value, bool):
        return f"{name} must be {_WORDS[int]}, not {value!r}"
    if not key.least <= value <= key.most:
        return f"{name} must be {key.least} to {key.most}, not {value}"
    return ""


def _wrong_networks(words: list[object]) -> str:
    for word in words:
        try:
            ipaddress.ip_network(str(word))
        except ValueError:
            return f"proxies: {word!r} is neither an IP address nor a network such as 10.0.0.0/8"
    return ""


def _wrong_words(key: str, words: list[object]) -> str:
    if not words or not all(isinstance(word, str) and word for word in words):
        return f"{key} must be {_WORDS[list]} that are not empty, not {words!r}"
    if key == "proxies":
        return _wrong_networks(words)
    if key == "groups_command" and not any(_USER_WORD in str(word) for word in words[1:]):
        return f"{key} must hold the word {_USER_WORD} behind the command"
    return ""
