"""The settings with which a server starts: the configuration, and its overrides.

`settings` reads the files, the command line its options; this module merges both.
"""

import contextlib
from pathlib import Path

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.gpus import GPU, GpuSetting
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.engines.rights import closed_program
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.runtime.clock import WallClock
from fairshare.server.state_directory import DEFAULT_STATE_DIRECTORY, StateDirectory
from fairshare.server.stored_configuration import read_kept
from fairshare.server.users.groups import own_user
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import collect_directory, read_directory
from fairshare.settings.engines import ENGINES, runs_here
from fairshare.settings.limits import LimitSettings
from fairshare.settings.nodes import MEMORY_MB, NodeManagerSettings
from fairshare.settings.registry import family_of
from fairshare.settings.reservations import with_reservations
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.shell import (
    AccountingSettings,
    AuthenticationSettings,
    ContainerSettings,
    HadoopSettings,
    NotifySettings,
    RaySettings,
    RetentionSettings,
    StateSettings,
)
from fairshare.this_machine import physical_memory_mb
from fairshare.wording import counted

ANY_NUMBER = 1_000_000


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Overrides of the configuration; None keeps its value."""

    host: str | None = None
    port: int | None = None
    state_directory: Path | None = None
    nodes: int | None = None
    memory_mb: int | None = None
    vcores: int | None = None
    scheduler: str | None = None
    stop_containers: bool = False
    engine: str | None = None
    hadoop: bool | None = None
    ray_address: str | None = None
    gpus: GpuSetting | None = None
    trust_local_users: bool = False


class LiveSettings(ContainerSettings, frozen=True, kw_only=True):
    """All settings that a server needs to start. `scheduler_settings` is JSON of the scheduler's
    own.

    `memory_mb` and `vcores` are those of one node; None: its part of what the machine has.
    `configuration` is the directory that all this came from, read at `read_ms`; without one there
    is nothing to read again. Without `port` it is any free one. With `trust_local_users` every
    account of this machine may be given root's rights (`web.listener.check_exposure`).
    """

    scheduler: str
    types: ResourceTypes
    scheduler_settings: bytes
    state_directory: Path
    heartbeat_interval_ms: int = 1_000
    host: str = "127.0.0.1"
    port: int = 0
    nodes: int = 1
    memory_mb: int | None = None
    vcores: int | None = None
    stop_containers: bool = False
    warnings: tuple[Problem, ...] = ()
    container_expiry_ms: int = 600_000
    node_manager: NodeManagerSettings = NodeManagerSettings()
    retention: RetentionSettings = RetentionSettings()
    authentication: AuthenticationSettings = AuthenticationSettings()
    limits: LimitSettings = LimitSettings()
    accounting: AccountingSettings = AccountingSettings()
    notify: NotifySettings = NotifySettings()
    names: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    socket: str | None = None
    socket_group: str | None = None
    log_format: str = "text"
    configuration: Configuration | None = None
    read_ms: int = 0
    engine: str = "local"
    hadoop: HadoopSettings = HadoopSettings(enabled="no")
    ray: RaySettings = RaySettings()
    trust_local_users: bool = False
    state: StateSettings = StateSettings()


def read_settings(directory: Path, overrides: Overrides) -> LiveSettings:
    """Read a configuration directory, and put both together.

    Raises ConfigurationError with all problems of all files.
    """
    read_ms = WallClock().now_ms()
    stored, counted = _kept(directory, overrides)
    configuration = with_own_user(
        read_directory(directory, overrides.scheduler, stored, overrides.gpus, counted)
    )
    server, engine = configuration.shell.server, configuration.shell.engine
    nodes = overrides.nodes or engine.nodes
    kind = overrides.engine or engine.kind
    _check_gpus(kind, engine.gpus, directory if overrides.gpus is None else None)
    # Nodes that register by themselves are several, as in Hadoop: more may come at any time.
    configuration = with_reservations(configuration, nodes if runs_here(kind) else ANY_NUMBER)
    memory_mb = overrides.memory_mb or engine.memory_mb or configuration.node_manager.memory_mb
    place = Place(str(directory / SHELL_FILE) if overrides.memory_mb is None else "--memory-mb")
    if not (overrides.memory_mb or engine.memory_mb) and memory_mb:
        place = configuration.site.place(MEMORY_MB)
    return LiveSettings(
        scheduler=configuration.scheduler,
        types=configuration.types,
        scheduler_settings=msgspec.json.encode(configuration.settings),
        heartbeat_interval_ms=configuration.heartbeat_interval_ms,
        container_expiry_ms=configuration.container_expiry_ms,
        host=overrides.host or server.host,
        port=server.port if overrides.port is None else overrides.port,
        state_directory=_state_directory(configuration, overrides),
        nodes=nodes,
        memory_mb=memory_mb,
        vcores=overrides.vcores or engine.vcores or configuration.node_manager.vcores,
        stop_containers=overrides.stop_containers,
        warnings=(
            *configuration.problems,
            *_beyond_machine(place, nodes, memory_mb or 0 if runs_here(kind) else 0),
            *_closed_program(place, engine.run_as),
        ),
        node_manager=configuration.node_manager,
        retention=_retention(configuration),
        authentication=configuration.shell.authentication,
        limits=configuration.shell.limits,
        accounting=configuration.shell.accounting,
        notify=configuration.shell.notify,
        names=server.names,
        certificate=server.certificate,
        key=server.key,
        socket=server.socket,
        socket_group=server.socket_group,
        log_format=server.log_format,
        configuration=configuration,
        read_ms=read_ms,
        engine=kind,
        hadoop=_hadoop(configuration.shell.hadoop, overrides),
        ray=_ray(configuration.shell.ray, overrides),
        trust_local_users=overrides.trust_local_users,
        state=configuration.shell.state,
        **{name: getattr(engine, name) for name in ContainerSettings.__struct_fields__},
    )


def _check_gpus(engine: str, gpus: GpuSetting, directory: Path | None) -> None:
    """GPUs of other machines are not assigned by this server. Raises ConfigurationError."""
    if runs_here(engine) or gpus == "none":
        return
    where = "--gpus" if directory is None else f"{directory / SHELL_FILE}: gpus in [engine]"
    raise ConfigurationError(
        [
            f"{where} is about this machine, and the engine {engine} runs containers elsewhere:"
            f" leave it out; {ENGINES[engine].nodes} say themselves which GPUs they have, if"
            f" {GPU} is among yarn.resource-types"
        ]
    )


def _ray(written: RaySettings, overrides: Overrides) -> RaySettings:
    if overrides.ray_address is None:
        return written
    return msgspec.structs.replace(written, address=overrides.ray_address)


def _hadoop(written: HadoopSettings, overrides: Overrides) -> HadoopSettings:
    if overrides.hadoop is None:
        return written
    return msgspec.structs.replace(written, enabled="yes" if overrides.hadoop else "no")


def _beyond_machine(place: Place, nodes: int, memory_mb: int) -> tuple[Problem, ...]:
    """A warning if the nodes offer more memory than this machine has: all of them are on it."""
    most_mb = physical_memory_mb()
    if nodes * memory_mb <= most_mb:
        return ()
    problems = Problems()
    problems.trap(
        place,
        "more-memory-than-the-machine",
        f"{counted(nodes, 'node')} with {memory_mb} MB each offer {nodes * memory_mb} MB, and this"
        f" machine has {most_mb} MB: when containers use what they are given, the kernel ends some"
        f" of them. {most_mb // nodes} MB for each is the most",
        "believes what a node says of itself",
    )
    return problems.all


def _closed_program(place: Place, run_as: str) -> tuple[Problem, ...]:
    """A warning if the accounts of users cannot run fairshare."""
    problems = Problems()
    if run_as == "user" and (closed := closed_program()):
        problems.warning(place, "closed-interpreter", closed)
    return problems.all


def _retention(configuration: Configuration) -> RetentionSettings:
    """fairshare.toml overrides yarn-site.xml."""
    written = configuration.shell.retention
    if written.finished_applications is not None:
        return written
    return msgspec.structs.replace(
        written, finished_applications=configuration.max_completed_applications
    )


def _state_directory(configuration: Configuration, overrides: Overrides) -> Path:
    written = configuration.shell.server.state_directory
    return (overrides.state_directory or Path(written or DEFAULT_STATE_DIRECTORY)).expanduser()


def state_directory_of(directory: Path) -> Path:
    """Where a server with a configuration directory keeps its state; the default where that does
    not exist or has errors."""
    collected = collect_directory(directory, Problems())
    if collected is None:
        return DEFAULT_STATE_DIRECTORY.expanduser()
    return _state_directory(collected, Overrides())


def _kept(directory: Path, overrides: Overrides) -> tuple[dict[str, str] | None, ResourceTypes]:
    """What an earlier server left behind: the properties that it stored, if the configuration
    enables them, and the resource types that it counted, if its scheduler was the same."""
    collected = collect_directory(directory, Problems(), scheduler=overrides.scheduler)
    if collected is None:
        return None, ResourceTypes()
    path = _state_directory(collected, overrides)
    kept = read_kept(path) if collected.store.kind == "persistent" else None
    identity = None
    with contextlib.suppress(FairshareError):  # the server reports it at its start
        identity = StateDirectory(path).identity()
    if identity is None or identity.scheduler != collected.scheduler:
        identity = None
    return (
        None if kept is None else dict(kept.properties),
        ResourceTypes() if identity is None else identity.types(),
    )


def with_own_user(configuration: Configuration) -> Configuration:
    """As in Hadoop, the user who runs the server is always one of its administrators."""
    settings = family_of(configuration.scheduler).with_administrator(
        configuration.settings, own_user()
    )
    return msgspec.structs.replace(configuration, settings=settings)
