"""`fairshare.toml`: what Hadoop has no name for, with its defaults.

    [labels]
    gpu = "exclusive"     # only asks for gpu run there
    spot = "shared"       # what is idle there serves asks for the default partition too

    [node_labels]
    "local-2" = "gpu"

Administrators add further labels while the server runs (Hadoop: RMNodeLabelsManager).
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.documents.gpus import GPU, GpuSetting, wrong_gpus
from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.documents.structs import At, read
from fairshare.documents.toml_tree import read_toml
from fairshare.documents.values import TEXT, TEXTS, Reader, Value, either, list_of, one_of, parsed
from fairshare.settings.engines import ENGINES
from fairshare.settings.limits import LimitSettings
from fairshare.settings.own_sections import (
    BOOKINGS,
    FAIRNESS,
    TIME_LIMITS,
    BookingSettings,
    FairnessSettings,
    TimeLimitSettings,
    booking_rules_of,
    fairness_of,
    time_limits_of,
)


class AccountingSettings(msgspec.Struct, frozen=True):
    """How long the accounts of ended applications are kept (`keep_days`), and how much of the disk
    they may take (`size_mb`); where that is not enough, the oldest go early."""

    keep_days: Annotated[int, Meta(ge=1, le=36_500)] = 400
    size_mb: Annotated[int, Meta(ge=1, le=2**30)] = 1024


class NotifySettings(msgspec.Struct, frozen=True):
    """Where notices about applications may go.

    Webhooks that begin with one of `webhooks` may go anywhere, others only to public addresses.
    Mail is sent through `smtp_host`, from `smtp_from`, only to `mail_domains` if there are any.
    Without `commands`, users cannot have commands run. `command` is run by the server as itself at
    the end of every application.
    """

    webhooks: tuple[str, ...] = ()
    smtp_host: str | None = None
    smtp_port: Annotated[int, Meta(ge=1, le=65_535)] = 25
    smtp_security: Literal["none", "starttls", "tls"] = "none"
    smtp_from: str | None = None
    smtp_user: str | None = None
    smtp_password_file: str | None = None
    mail_domains: tuple[str, ...] = ()
    commands: bool = True
    command: tuple[str, ...] = ()


LABELS: Final = "labels"
NODES: Final = "node_labels"
SECTIONS: Final = (LABELS, NODES)

_KINDS: Final = {"exclusive": True, "shared": False}


class LabelTables(msgspec.Struct, frozen=True):
    """Labels by name, whether each is exclusive; and the labels of nodes."""

    labels: dict[str, bool] = {}
    nodes: dict[str, str] = {}


def read_label_tables(tables: Mapping[str, Node], reader: Reader) -> LabelTables:
    """Read both."""
    labels: dict[str, bool] = {}
    nodes: dict[str, str] = {}
    if LABELS in tables:
        for name, node in reader.entries(tables[LABELS], LABELS).items():
            kind = reader.word(node, f"{LABELS}.{name}", _KINDS)
            if kind is not None:
                labels[name] = _KINDS[kind]
    if NODES in tables:
        for name, node in reader.entries(tables[NODES], NODES).items():
            if node.text in labels:
                nodes[name] = node.text
            else:
                known = ", ".join(labels) or "none"
                message = f"there is no label {node.text!r}: [{LABELS}] has {known}"
                reader.wrong(node.place, message)
    return LabelTables(labels, nodes)


FILE: Final = "fairshare.toml"
RULE: Final = "toml-key"
_DAY_MS: Final = 86_400_000


class ServerSettings(msgspec.Struct, frozen=True):
    """Where the server listens and keeps its record; None: the server's own choice of a place.

    `names` are those by which it is called from elsewhere (`cluster.example.org`). With
    `certificate` and `key`, two PEM files, it speaks TLS. `socket` is the path of a Unix socket on
    which it listens too, open to all accounts of the machine, or to those of `socket_group`.
    The log has lines of text, or of JSON (`log_format`).
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8088  # 0: any that is free
    state_directory: str | None = None
    names: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    socket: str | None = None
    socket_group: str | None = None
    log_format: Literal["text", "json"] = "text"


def _read_gpus(reader: Reader, node: Node, what: str) -> GpuSetting:
    value: Any = node.plain
    if message := wrong_gpus(value):
        reader.wrong(node.place, message)
    return tuple(value) if isinstance(value, list) else value


_GPUS: Final = either(TEXT, TEXTS, words="", read=_read_gpus)


class ContainerSettings(msgspec.Struct, frozen=True):
    """What an engine grants containers, beside the sizes of its nodes.

    `run_as` is whose processes they are: the server's (`server`), or those of the user who
    submitted the application (`user`), for which the server has to be root.

    `resources` are the amounts of further types that one node offers. Of what a container prints,
    `log_limit_mb` are kept of each stream, its beginning and its end; 0: all. The folders of all
    containers of an application may take `application_disk_mb` of the disk, those of a user
    `user_disk_mb`; 0: all. Of ended containers of an application the latest
    `application_kept_containers` folders are kept, and of a user `user_kept_containers`. A
    container may have `process_limit` processes and threads; 0: any.
    `no_new_privileges`: nothing in a container gains rights by a set-user-id program.
    `own_processors`: a container runs on as many processors of its own as it has vcores, where a
    vcore is a processor. With `private_tmp` it has a /tmp and a /dev/shm of its own.

    `gpus` are those that are assigned to containers, each to one: all that this machine has
    (`auto`), a number of them, those with these names, or none.

    A GPU that no container has, and of which more than `gpu_busy_mb` are in use, is not assigned
    meanwhile; 0: all are. A container that does not use its GPUs for `gpu_idle_end_s` ends (0:
    never), and after other times in the queues of `gpu_idle_end_by_queue_s` and those below them.

    Containers with a terminal end after `interactive_idle_s` in which nothing was typed, printed or
    computed (0: never), or `interactive_detached_s` without a user who is attached. Queues and
    those below them may have a time of their own in `interactive_idle_by_queue_s`.
    `image_program` runs commands in images: podman, docker, apptainer, singularity, a path of one,
    `auto` for the first of them that the machine has, or `none`. `image_options` are added to its
    command line, before the image.
    """

    resources: dict[str, Annotated[int, Meta(ge=0, le=2**53)]] = {}
    log_limit_mb: Annotated[int, Meta(ge=0, le=2**30)] = 256
    run_as: Literal["server", "user"] = "server"
    application_disk_mb: Annotated[int, Meta(ge=0, le=2**40)] = 0
    user_disk_mb: Annotated[int, Meta(ge=0, le=2**40)] = 0
    application_kept_containers: Annotated[int, Meta(ge=10, le=2**40)] = 50_000
    user_kept_containers: Annotated[int, Meta(ge=10, le=2**40)] = 200_000
    process_limit: Annotated[int, Meta(ge=0, le=2**22)] = 8192
    no_new_privileges: bool = False
    own_processors: bool = True
    private_tmp: bool = False
    gpus: Annotated[GpuSetting, _GPUS] = "none"
    gpu_busy_mb: Annotated[int, Meta(ge=0, le=2**40)] = 1024
    gpu_idle_end_s: Annotated[int, Meta(ge=0, le=100_000_000)] = 0
    gpu_idle_end_by_queue_s: dict[str, Annotated[int, Meta(ge=0, le=100_000_000)]] = {}
    interactive_idle_s: Annotated[int, Meta(ge=0, le=100_000_000)] = 3600
    interactive_detached_s: Annotated[int, Meta(ge=1, le=100_000_000)] = 60
    interactive_idle_by_queue_s: dict[str, Annotated[int, Meta(ge=0, le=100_000_000)]] = {}
    image_program: str = "auto"
    image_options: tuple[str, ...] = ()

    def check(self, at: At) -> None:
        """Memory and vcores have keys of their own."""
        for name in (MEMORY, VCORES):
            if name in self.resources:
                message = f"{name} belongs to [engine], as memory_mb or vcores"
                at.wrong(message, "resources", name)


class EngineSettings(ContainerSettings, frozen=True, kw_only=True):
    """What runs containers. Sizes are those of one node; None: what this machine has.

    `reservations` says whether a node is kept free for a container that does not fit yet: as in
    Hadoop (`on`), never (`off`), only what its queue is entitled to (`entitled`), once it has
    waited for `reserve_after_s`, or `auto`: `entitled` with a single node, `on` with more.
    """

    kind: Annotated[str, one_of(ENGINES)] = "local"
    nodes: Annotated[int, Meta(ge=1, le=10_000)] = 1
    memory_mb: Annotated[int, Meta(ge=1, le=2**40)] | None = None
    vcores: Annotated[int, Meta(ge=1, le=2**31 - 1)] | None = None
    reservations: Literal["auto", "on", "off", "entitled"] = "auto"
    reserve_after_s: Annotated[int, Meta(ge=0, le=86_400)] = 60


class HadoopSettings(msgspec.Struct, frozen=True):
    """Whether Hadoop's own clients and nodes are served, over Hadoop's RPC (`enabled`).

    `auto`: if the extra fairshare[hadoop] is installed, `port` is not 0, and callers need no proof
    ([authentication]). Callers say who they are, and are believed, as in any Hadoop cluster without
    Kerberos; so these ports are on loopback unless `open_to_network` says otherwise.
    """

    enabled: Literal["auto", "yes", "no"] = "auto"
    open_to_network: bool = False


ROOTS_RAY_PORT: Final = 900
ROOTS_RAY_TOKEN: Final = "/etc/fairshare/ray-token"  # noqa: S105 - a path
"""The port of the head, and the file of the token, of a cluster that `fairshare node` makes."""


class Head(NamedTuple):
    """The head of a cluster that `fairshare node` makes."""

    host: str
    port: int

    @property
    def address(self) -> str:
        """As Ray takes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


_LABEL: Final = "[A-Za-z0-9_-]{1,63}"
_HEAD: Final = rf"(?:\[([0-9A-Fa-f:.]+)\]|({_LABEL}(?:\.{_LABEL})*\.?))(?::([0-9]{{1,5}}))?"


def parse_head(text: str) -> Head:
    """HOST or HOST:PORT; raises ValueError.

    >>> parse_head("gpu1").address, parse_head("[fd00::1]:901").address
    ('gpu1:900', '[fd00::1]:901')
    """
    match = re.fullmatch(_HEAD, text)
    port = int(match[3] or ROOTS_RAY_PORT) if match else 0
    if match is None or not 0 < port < 65_536:
        raise ValueError(f"{text!r} is not HOST or HOST:PORT, such as gpu1 or [fd00::1]:900")
    return Head(match[1] or match[2], port)


class RaySettings(msgspec.Struct, frozen=True):
    """The Ray cluster of the engine `ray`. `address` is that of its head, `auto`: of a cluster that
    was started on this machine.

    Containers of a node that may be cut off are stopped after `fence_s`; the node is lost later.
    The value of the Ray label `partition_label` is the node's label here (partition); empty: none.
    Ray's autoscaler is asked for nodes while containers wait, up to a cluster of
    `autoscale_vcores`; 0: never. `token_file` has the cluster's token; None: Ray's own variables
    (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH) say whether there is one, and where.
    """

    address: str = "auto"
    token_file: str | None = None
    fence_s: Annotated[int, Meta(ge=5, le=86_400)] = 15
    partition_label: str = ""
    autoscale_vcores: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0


class WatchSettings(msgspec.Struct, frozen=True):
    """How the allocation file is looked after while the server runs; the defaults are Hadoop's.

    A change is taken over when the file has been left alone for `settle_ms`.
    """

    check_interval_ms: Annotated[int, Meta(ge=10, le=_DAY_MS)] = 10_000
    settle_ms: Annotated[int, Meta(ge=0, le=_DAY_MS)] = 5_000


_USER_WORD: Final = "{user}"


def _read_groups_command(reader: Reader, node: Node, what: str) -> tuple[str, ...] | None:
    before = reader.mistakes
    words: tuple[str, ...] = TEXTS.read(reader, node, what)
    if reader.mistakes == before and not any(_USER_WORD in word for word in words[1:]):
        message = f"{what} must hold the word {_USER_WORD} behind the command"
        reader.wrong(node.place, message)
    return words


_GROUPS_COMMAND: Final = Value(TEXTS.schema, TEXTS.words, _read_groups_command)


class UserSettings(msgspec.Struct, frozen=True):
    """Where the groups of users come from; at most one is set, else the operating system says.

    In `groups_command` the word `{user}` is replaced by the user.
    """

    groups_file: str | None = None
    groups_command: Annotated[tuple[str, ...] | None, _GROUPS_COMMAND] = None

    def check(self, at: At) -> None:
        """There is one source."""
        if at.has("groups_file") and at.has("groups_command"):
            at.wrong("groups come from groups_file or from groups_command: write one of both")


def _network(text: str) -> str:
    """An IP address or a network; raises ValueError."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        message = f"{text!r} is neither an IP address nor a network such as 10.0.0.0/8"
        raise ValueError(message) from None
    return text


def _service(text: str) -> str:
    """The name of a service of PAM; raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text):
        raise ValueError(f"{text!r} is not the name of a service of PAM, such as login")
    return text


class AuthenticationSettings(msgspec.Struct, frozen=True):
    """How callers prove who they are; without either they cannot, and the server listens on
    loopback alone.

    With `tokens` by one that `fairshare admin token create` has made. Of the addresses in `proxies`
    (IP addresses or networks) the header `proxy_header` is believed. With `socket` only callers of
    the Unix socket, whose accounts the kernel names, need nothing else.

    An account of the machine may have `account_tokens` that it makes itself (0: none), on the Unix
    socket or with its password, each for `account_token_days` at most. `pam_service` is the service
    of PAM that examines passwords; None: passwords are not taken.
    """

    tokens: bool = False
    socket: bool = False
    proxies: Annotated[tuple[str, ...], list_of(parsed(_network))] = ()
    proxy_header: str = "X-Forwarded-User"
    account_tokens: Annotated[int, Meta(ge=0, le=1_000)] = 10
    account_token_days: Annotated[int, Meta(ge=1, le=3_650)] = 30
    pam_service: Annotated[str | None, parsed(_service)] = None

    @property
    def required(self) -> bool:
        """Whether every caller needs a proof."""
        return self.tokens or self.socket or bool(self.proxies) or self.pam_service is not None


class RetentionSettings(msgspec.Struct, frozen=True):
    """How long a server remembers.

    Of the applications that are over, those are kept that are among the last
    `finished_applications` and ended less than `finished_hours` ago. The journal keeps the last
    `records` of its records, or a little more: whole stretches between two snapshots go. Fewer stay
    where its file has more than `journal_mb` in use. After `snapshot_records` new ones there is a
    snapshot: a start reads no more than these.

    Of what leaves the journal, what `fairshare plan` needs stays for `history_days` in compact
    form, in a file of at most `history_mb`; 0 days: nothing stays.
    """

    finished_applications: Annotated[int, Meta(ge=0, le=10_000_000)] | None = (
        None  # None: as yarn-site.xml says, which is 1,000 if silent
    )
    finished_hours: Annotated[int, Meta(ge=1, le=1_000_000)] = 24 * 7
    records: Annotated[int, Meta(ge=1_000, le=2**40)] = 1_000_000
    journal_mb: Annotated[int, Meta(ge=16, le=2**30)] = 4096
    snapshot_records: Annotated[int, Meta(ge=100, le=10_000_000)] = 25_000
    history_days: Annotated[int, Meta(ge=0, le=10_000)] = 14
    history_mb: Annotated[int, Meta(ge=1, le=2**30)] = 1024


def _database(text: str) -> str:
    """The URL of a PostgreSQL database; raises ValueError, which shows no password."""
    parts = urlsplit(text)
    if parts.scheme not in ("postgresql", "postgres") or not (parts.netloc or parts.query):
        raise ValueError("a state is shared in PostgreSQL: write postgresql://USER@HOST/DATABASE")
    return text


def _server(text: str) -> str:
    """The address of a server; raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise ValueError("write the address of a server as http://HOST:PORT")
    return text.rstrip("/")


class StateSettings(msgspec.Struct, frozen=True):
    """Where the state is shared by servers of several hosts; None: it is in the state directory
    alone.

    `url` is that of a PostgreSQL database, of which each host has a copy in its state directory. A
    standby takes over when the server that leads has given no sign of life for `takeover_s`.
    Containers get the addresses of all `servers` besides that of the one that launches them.
    """

    url: Annotated[str | None, parsed(_database)] = None
    takeover_s: Annotated[int, Meta(ge=2, le=3_600)] = 5
    servers: Annotated[tuple[str, ...], list_of(parsed(_server))] = ()


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
    fairness: FairnessSettings = FairnessSettings()
    time_limits: TimeLimitSettings = TimeLimitSettings()
    state: StateSettings = StateSettings()
    bookings: BookingSettings = BookingSettings()
    labels: LabelTables = LabelTables()
    sections: dict[str, Any] = {}
    """Those of schedulers, by name."""


_STRUCTS: Final[dict[str, type[msgspec.Struct]]] = {
    field.name: type(field.default)
    for field in msgspec.structs.fields(ShellSettings)
    if field.name not in ("labels", "sections")
}
"""The sections that are read by the types of their fields."""


def read_shell(
    document: bytes | None,
    file: str,
    problems: Problems,
    default_port: int | None = None,
    sections: Mapping[str, type[msgspec.Struct]] | None = None,
) -> ShellSettings:
    """The settings of a fairshare.toml; None: there is no such file. Else as `read_tree`."""
    return read_tree(read_toml(document or b"", file, problems), problems, default_port, sections)


def read_tree(
    root: Node,
    problems: Problems,
    default_port: int | None = None,
    sections: Mapping[str, type[msgspec.Struct]] | None = None,
) -> ShellSettings:
    """The settings of a document.

    `default_port` is the port that counts when the file names none. `sections` are those
    that belong to schedulers, by name.
    """
    structs = {**_STRUCTS, **(sections or {})}
    names = (*structs, *SECTIONS)
    tables = {name: node for name, node in (root.entries or {}).items() if name in names}
    for name, place in root.keys.items():
        if name not in tables:
            listed = ", ".join(f"[{one}]" for one in names)
            problems.error(place, RULE, f"{name!r} is unknown: there are {listed}")
    reader = Reader(problems, RULE, typed=True)
    values: dict[str, Any] = {
        name: (name in tables and read(tables[name], cls, reader, name)) or cls()
        for name, cls in structs.items()
    }
    if values["authentication"].socket and values["server"].socket is None:
        problems.error(
            root.find("authentication", "socket"),
            RULE,
            "socket = true needs the path of the socket: write one as socket below [server]",
        )
    server = tables.get("server")
    if default_port is not None and "port" not in ((server and server.entries) or ()):
        values["server"] = msgspec.structs.replace(values["server"], port=default_port)
    return ShellSettings(
        **{name: values[name] for name in _STRUCTS},
        sections={name: values[name] for name in sections or ()},
        labels=read_label_tables(tables, reader),
    )


def check_resources(
    settings: ShellSettings, types: ResourceTypes, root: Node, problems: Problems
) -> None:
    """Report amounts of resource types that the configuration does not have, and amounts of GPUs
    that are assigned: these follow from the machine."""
    for name, amount in settings.engine.resources.items():
        of_gpus = name == GPU or name.startswith(GPU + "-")
        if settings.engine.gpus != "none" and of_gpus and amount:
            problems.error(
                root.find("engine", "resources", name),
                "gpus",
                f"the amount of {name} follows from gpus: leave it out here, or write"
                ' gpus = "none" for GPUs that are counted, and not assigned',
            )
        if name in types.names:
            continue
        further = ", ".join(types.names[2:]) or "no further types"
        problems.error(
            root.find("engine", "resources", name),
            "resource-type",
            f"there is no resource type {name!r}: yarn.resource-types names {further}",
        )


def with_own_sections(
    settings: Any,
    located: ShellSettings,
    types: ResourceTypes,
    title: str,
    root: Node,
    problems: Problems,
) -> Any:
    """The settings of a scheduler with those of the own sections that it follows. One that it does
    not follow is reported; `root` is the document that has them."""
    own: Mapping[str, object] = {
        FAIRNESS: fairness_of(located.fairness, types, root, problems),
        TIME_LIMITS: time_limits_of(located.time_limits),
        BOOKINGS: booking_rules_of(located.bookings),
    }
    followed = {name: own[name] for name in own if name in settings.__struct_fields__}
    for name in own.keys() - followed:
        if name in root.keys:
            problems.error(root.keys[name], RULE, f"the {title} does not follow [{name}]")
    return msgspec.structs.replace(settings, **followed)
