"""What Hadoop's protocols read in an unmodified configuration directory, with YARN's defaults.

Addresses and intervals come from yarn-site.xml and core-site.xml under Hadoop's own names. What
this server cannot honour, and must not ignore, is refused by name, file and line. All times are
milliseconds. `yarn.resourcemanager.` is left out in the names of properties.

The hosts that may have nodes, and those that must not, come from Hadoop's include and exclude
files: names divided by blanks and lines; `#` begins a comment. The exclude file may be XML, with a
timeout for each host (Hadoop: HostsFileReader). The rack of each is what Hadoop's `net.topology`
properties say, by a table or a script; without one all hosts are in the default rack (Hadoop:
ScriptBasedMapping, TableMapping).
"""

import logging
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from fairshare.core.manager.requests import DEFAULT_RACK
from fairshare.documents import xml
from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError
from fairshare.server.settings import LiveSettings
from fairshare.settings.high_availability import is_of_this_machine, own_identifier
from fairshare.settings.manager import read_expiries, read_rolling
from fairshare.settings.nodes import AGGREGATION, RemoteLogs, read_remote_logs
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Site
from fairshare.wording import cause
from fairshare.yarn.rest.nodes import HADOOP_VERSION

MOST_BYTES = xml.MAX_BYTES


class Hosts(msgspec.Struct, frozen=True):
    """The contents of both files. An empty `included` admits all; a timeout of None is the
    default."""

    included: frozenset[str] = frozenset()
    excluded: dict[str, int | None] = {}


class HostLists:
    """Both files, read by `refresh`; an empty path means an empty file."""

    def __init__(self, include: str = "", exclude: str = "") -> None:
        self._include = include
        self._exclude = exclude
        self.hosts = Hosts()

    def refresh(self) -> list[str]:
        """Read the files again; the problems, because of which nothing has changed, or none."""
        problems: list[str] = []
        included = self._read(self._include, problems)
        excluded = self._read(self._exclude, problems)
        if not problems:
            self.hosts = Hosts(frozenset(included), excluded)
        return problems

    def allows(self, host: str) -> bool:
        """Whether a host may have nodes."""
        hosts = self.hosts
        return (not hosts.included or host in hosts.included) and host not in hosts.excluded

    def _read(self, file: str, problems: list[str]) -> dict[str, int | None]:
        if not file:
            return {}
        try:
            content = Path(file).read_bytes()
            if len(content) > MOST_BYTES:
                problems.append(f"{file} has more than {MOST_BYTES} bytes")
                return {}
            text = content.decode()
        except OSError as error:
            problems.append(f"{file} cannot be read: {error.strerror}")
            return {}
        except UnicodeDecodeError:
            problems.append(f"{file} is not UTF-8")
            return {}
        if file.lower().endswith(".xml"):
            return _read_xml(file, content, problems)
        lines = (line.partition("#")[0] for line in text.splitlines())
        return dict.fromkeys(name for line in lines for name in line.split())


def _read_xml(file: str, content: bytes, problems: list[str]) -> dict[str, int | None]:
    """`<hosts><host><name>a,b</name><timeout>600</timeout></host></hosts>`; timeouts in seconds."""
    found: dict[str, int | None] = {}
    parsing = Problems()
    document = xml.parse(content, file, parsing)
    problems += [str(problem) for problem in parsing.all]
    for host in document.children if document is not None else ():
        fields = {field.name: field.trimmed for field in host.children}
        timeout = fields.get("timeout", "")
        if timeout and not timeout.isdigit():
            problems.append(f"{host.place}: the timeout {timeout!r} is not a number of seconds")
            continue
        for name in fields.get("name", "").replace(",", " ").split():
            found[name] = int(timeout) if timeout else None
    return found


MAPPING = "net.topology.node.switch.mapping.impl"
SCRIPT = "net.topology.script.file.name"
TABLE = "net.topology.table.file.name"

SCRIPT_TIMEOUT_S = 10.0
_SCRIPT_CLASS = "ScriptBasedMapping"
_TABLE_CLASS = "TableMapping"

_log = logging.getLogger("fairshare.yarn.rpc")


class Racks:
    """Finds the rack of a host; each host is looked up once."""

    def __init__(self, find: Callable[[str], str] = lambda host: DEFAULT_RACK) -> None:
        self._find = find
        self._found: dict[str, str] = {}

    @classmethod
    def of(cls, site: Site, problems: Problems) -> "Racks":
        """The racks that the properties describe; reports what cannot be used."""
        mapping = site.string(MAPPING, _SCRIPT_CLASS, problems).rpartition(".")[2]
        if mapping == _TABLE_CLASS:
            file = site.string(TABLE, "", problems)
            table = _read_table(file)
            if isinstance(table, str):
                problems.error(site.place(TABLE, MAPPING), "racks", table, "uses default racks")
                return cls()
            return cls(lambda host: table.get(host, DEFAULT_RACK))
        if mapping != _SCRIPT_CLASS:
            message = f"{MAPPING}: there are {_SCRIPT_CLASS} and {_TABLE_CLASS}, no {mapping!r}"
            problems.error(site.place(MAPPING), "racks", message, "loads the class")
            return cls()
        script = site.string(SCRIPT, "", problems)
        if not script:
            return cls()
        if not Path(script).is_file():
            message = f"{SCRIPT}: there is no file {script}"
            problems.error(site.place(SCRIPT), "racks", message, "uses default racks")
        return cls(lambda host: _ask(script, host))

    def rack_of(self, host: str) -> str:
        """`/rack`, or the default rack if the script fails."""
        rack = self._found.get(host)
        if rack is None:
            rack = self._found[host] = self._find(host)
        return rack


def _read_table(file: str) -> Mapping[str, str] | str:
    """The racks by host (two columns, `#` begins a comment), or what is wrong with the file."""
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return f"{TABLE}: {file or 'no file'} cannot be read: {cause(error)}"
    table = {}
    for number, line in enumerate(lines, 1):
        columns = line.partition("#")[0].split()
        if columns and len(columns) != 2:
            return f"{file}:{number}: a line must have a host and a rack, not {line.strip()!r}"
        if columns:
            table[columns[0]] = columns[1]
    return table


def _ask(script: str, host: str) -> str:
    try:
        done = subprocess.run(
            [script, host],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
            timeout=SCRIPT_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        _log.warning("the rack of %s is not known, %s: %s", host, SCRIPT, error)
        return DEFAULT_RACK
    words = done.stdout.split()
    if len(words) == 1 and words[0].startswith("/"):
        return words[0]
    _log.warning("%s said %r of %s, which is not a rack: write /NAME", script, done.stdout, host)
    return DEFAULT_RACK


MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS

VERSION = HADOOP_VERSION
"""The release of Hadoop whose ResourceManager this is to nodes and clients: nodes compare it with
their `yarn.nodemanager.resourcemanager.minimum.version`."""


class KeySettings(Struct, frozen=True):
    """How often the three kinds of master keys roll.

    `container-tokens.master-key-rolling-interval-secs`, `nm-tokens.…`, `am-rm-tokens.…`. A new key
    is given out first and signs only after its delay: 1.5 times the time after which a silent node
    (or master) expires, so that all have it by then.
    """

    container_rolling_ms: int = DAY_MS
    node_rolling_ms: int = DAY_MS
    master_rolling_ms: int = DAY_MS
    node_delay_ms: int = 15 * MINUTE_MS
    master_delay_ms: int = 45 * MINUTE_MS // 2


class NodeSettings(Struct, frozen=True):
    """How nodes are treated.

    `heartbeat_ms`: `nodemanagers.heartbeat-interval-ms`. While the server is busy it asks nodes to
    beat less often, down to once in `longest_heartbeat_ms`. `expiry_ms`:
    `yarn.nm.liveness-monitor.expiry-interval-ms`. `minimum_version`:
    `nodemanager.minimum.version`; empty: any. `allowed` says of a host whether the include and
    exclude files (`nodes.include-path`, `nodes.exclude-path`) admit it; `rack_of` gives its rack.
    """

    heartbeat_ms: int = 1_000
    longest_heartbeat_ms: int = 10_000
    expiry_ms: int = 10 * MINUTE_MS
    minimum_version: str = ""
    allowed: Callable[[str], bool] = lambda host: True
    rack_of: Callable[[str], str] = lambda host: DEFAULT_RACK


class MasterSettings(Struct, frozen=True):
    """How masters are treated.

    `expiry_ms`: `yarn.am.liveness-monitor.expiry-interval-ms`. `token_life_ms`:
    `rm.container-allocation.expiry-interval-ms`, for which a container's token is valid.
    """

    expiry_ms: int = 15 * MINUTE_MS
    token_life_ms: int = 10 * MINUTE_MS


_RM: Final = "yarn.resourcemanager."
_HOST: Final = f"{_RM}hostname"
_BIND: Final = f"{_RM}bind-host"
_TIMELINE: Final = "yarn.timeline-service."
ANY_HOST: Final = "0.0.0.0"  # noqa: S104
HISTORY_PORT: Final = 10_200
_SHUFFLE: Final = "mapreduce.shuffle."
_HEARTBEAT: Final = f"{_RM}nodemanagers.heartbeat-interval"

LOOPBACK: Final = "127.0.0.1"
LOOPBACK_HOSTS: Final = frozenset((LOOPBACK, "localhost"))

PORTS: Final[Mapping[str, tuple[str, int]]] = {
    "client": (f"{_RM}address", 8032),
    "scheduler": (f"{_RM}scheduler.address", 8030),
    "tracker": (f"{_RM}resource-tracker.address", 8031),
    "admin": (f"{_RM}admin.address", 8033),
}
"""The property of each address, and its default port."""

_REFUSED: Final = {
    "hadoop.security.authentication": ("simple", "Kerberos is not supported"),
    "hadoop.rpc.protection": ("authentication", "calls are neither signed nor encrypted"),
    "yarn.http.policy": ("HTTP_ONLY", "the web servers of nodes are read by HTTP"),
}
"""The only value that each may have, and why others are refused."""


class HadoopSettings(msgspec.Struct, frozen=True):
    """All that the protocols need. `addresses` has host and port by the names of PORTS;
    `log_aggregation`: NodeManagers aggregate logs, within `log_aggregation_timeout_ms`.
    `history` is the address for those who ask a timeline server, if this server is one.
    `remote_logs` is where the nodes of this machine aggregate theirs.
    `shuffle_port`: `mapreduce.shuffle.port` of the nodes of this machine; 0: any free one."""

    addresses: Mapping[str, tuple[str, int]]
    keys: KeySettings
    nodes: NodeSettings
    masters: MasterSettings
    host_lists: HostLists
    graceful_timeout_s: int
    log_aggregation: bool
    log_aggregation_timeout_ms: int
    remote_logs: RemoteLogs
    shuffle_port: int
    history: tuple[str, int] | None = None


def read_hadoop(settings: LiveSettings) -> HadoopSettings:
    """Read them; raises ConfigurationError with all problems.

    With a web port of 0 the ports are 0 too: any free ones.
    """
    configuration = settings.configuration
    site = Site.of({}) if configuration is None else configuration.site
    problems = Problems()
    _check_security(site, problems)
    addresses = _addresses(site, problems, any_port=settings.port == 0)
    node_expiry_ms, master_expiry_ms = read_expiries(site, problems)
    lists = HostLists(
        site.string(f"{_RM}nodes.include-path", "", problems),
        site.string(f"{_RM}nodes.exclude-path", "", problems),
    )
    for problem in lists.refresh():
        problems.error(site.place(f"{_RM}nodes.include-path"), "host-list", problem)
    hadoop_settings = HadoopSettings(
        addresses=addresses,
        keys=KeySettings(
            container_rolling_ms=1_000 * read_rolling(site, "container-tokens", problems),
            node_rolling_ms=1_000 * read_rolling(site, "nm-tokens", problems),
            master_rolling_ms=1_000 * read_rolling(site, "am-rm-tokens", problems),
            node_delay_ms=node_expiry_ms * 3 // 2,
            master_delay_ms=master_expiry_ms * 3 // 2,
        ),
        nodes=NodeSettings(
            heartbeat_ms=settings.heartbeat_interval_ms,
            longest_heartbeat_ms=_longest_heartbeat_ms(site, problems, node_expiry_ms),
            expiry_ms=node_expiry_ms,
            minimum_version=_minimum_version(site, problems),
            allowed=lists.allows,
            rack_of=Racks.of(site, problems).rack_of,
        ),
        masters=MasterSettings(
            expiry_ms=master_expiry_ms, token_life_ms=settings.container_expiry_ms
        ),
        host_lists=lists,
        graceful_timeout_s=site.integer(
            f"{_RM}nodemanager-graceful-decommission-timeout-secs", 3_600, problems
        ),
        log_aggregation=site.boolean(AGGREGATION, False, problems),
        log_aggregation_timeout_ms=site.integer(
            "yarn.log-aggregation-status.time-out.ms", 10 * MINUTE_MS, problems
        ),
        history=_history(
            site,
            problems,
            any_port=settings.port == 0,
            open_to_network=settings.hadoop.open_to_network,
        ),
        remote_logs=read_remote_logs(site, problems),
        shuffle_port=_shuffle_port(site, problems) if settings.engine == "local" else 0,
    )
    problems.raise_errors()
    if not settings.hadoop.open_to_network:
        _check_exposure(addresses)
    return hadoop_settings


def _history(
    site: Site, problems: Problems, *, any_port: bool, open_to_network: bool
) -> tuple[str, int] | None:
    """The address of the timeline server for clients; None: there is none, or on another machine,
    or where others than this machine reach it and must not."""
    asked = [
        site.boolean(f"{_TIMELINE}{name}enabled", False, problems)
        for name in ("", "generic-application-history.")
    ]
    default = site.string(f"{_TIMELINE}hostname", ANY_HOST, problems)
    written = site.string(f"{_TIMELINE}address", f"{default}:{HISTORY_PORT}", problems)
    if not any(asked):
        return None
    host, _, port = written.rpartition(":")
    if host == ANY_HOST and not open_to_network:
        host = LOOPBACK
    if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
        message = f"{_TIMELINE}address: {written!r} must be host:port"
        problems.error(site.place(f"{_TIMELINE}address"), "address", message, "does not start")
        return None
    if not is_of_this_machine(host) or not (open_to_network or host in LOOPBACK_HOSTS):
        return None
    return host, 0 if any_port else int(port)


def _shuffle_port(site: Site, problems: Problems) -> int:
    name = f"{_SHUFFLE}ssl.enabled"
    if site.boolean(name, False, problems):
        message = (
            f"{name} is true: the shuffle of this machine's nodes is not encrypted, as maps and"
            f" reduces are all on this machine. Set {name} to false here and for clients;"
            " mapreduce.job.encrypted-intermediate-data=true of a job encrypts what it shuffles."
            " NodeManagers (--engine nodemanagers) shuffle by TLS, with their ssl-server.xml"
        )
        problems.error(site.place(name), "unsupported", message, "honours it")
    name = f"{_SHUFFLE}port"
    port = site.integer(name, 0, problems, minimum=0)
    if port > 65_535:
        problems.error(site.place(name), "address", f"{name}: there is no port {port}")
    return port


def _check_security(site: Site, problems: Problems) -> None:
    for name, (only, why) in _REFUSED.items():
        written = site.string(name, only, problems)
        if written.lower() != only.lower():
            message = f"{name} is {written!r}: {why}; it must be {only!r}"
            problems.error(site.place(name), "unsupported", message, "honours it")
    name = "hadoop.security.authorization"
    if site.boolean(name, False, problems):
        message = (
            f"{name} is true: lists of users for each protocol (hadoop-policy.xml) are not"
            " supported; queues and applications have access lists"
        )
        problems.error(site.place(name), "unsupported", message, "honours it")


def _addresses(site: Site, problems: Problems, *, any_port: bool) -> dict[str, tuple[str, int]]:
    """Of each port. With `yarn.resourcemanager.ha.enabled` the properties end with the id of this
    ResourceManager."""
    identifier = own_identifier(site, problems)
    suffix = f".{identifier}" if identifier else ""
    host = site.string(_HOST + suffix, "", problems) or site.string(_HOST, LOOPBACK, problems)
    bound = site.string(_BIND, "", problems)
    addresses = {}
    for port_name, (name, default) in PORTS.items():
        written = site.string(name + suffix, "", problems) or site.string(name, "", problems)
        own, port = _address(site, problems, name + suffix, written or f"{host}:{default}")
        addresses[port_name] = (bound or own or host, 0 if any_port else port)
    return addresses


def _address(site: Site, problems: Problems, name: str, written: str) -> tuple[str, int]:
    host, colon, digits = written.rpartition(":")
    if not colon:
        return written, next(port for key, port in PORTS.values() if name.startswith(key))
    if not (digits.isascii() and digits.isdigit() and int(digits) <= 65_535):
        message = f"{name}: {written!r} must be host:port"
        problems.error(site.place(name), "address", message, "does not start")
        return host, 0
    return host, int(digits)


def _check_exposure(addresses: Mapping[str, tuple[str, int]]) -> None:
    """Raise ConfigurationError for an address of the network."""
    outside = {host for host, _ in addresses.values() if host not in LOOPBACK_HOSTS}
    if outside:
        raise ConfigurationError(
            [
                f"{', '.join(sorted(outside))}: Hadoop's callers say who they are without a proof,"
                " so everyone who can reach this address could act as any user. If only people"
                " whom you trust can reach it, write `open_to_network = true` below [hadoop] in"
                f" {SHELL_FILE}; else set {_HOST} to {LOOPBACK}"
            ]
        )


def _longest_heartbeat_ms(site: Site, problems: Problems, expiry_ms: int) -> int:
    """Nodes must not expire because they were asked to be quiet."""
    written = site.integer(f"{_HEARTBEAT}-max-ms", 10_000, problems, minimum=1)
    return max(1, min(written, expiry_ms // 3))


def _minimum_version(site: Site, problems: Problems) -> str:
    written = site.string(f"{_RM}nodemanager.minimum.version", "NONE", problems)
    return {"NONE": "", "EqualToRM": VERSION}.get(written, written)
