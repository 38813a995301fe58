"""Puts a server and the engine of a Ray cluster together."""

import os
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from fairshare.engines.local.grants import Grants
from fairshare.engines.local.machine import user_name
from fairshare.errors import ConfigurationError
from fairshare.ray.engine import RayEngine
from fairshare.ray.joined import TOKEN_FILE
from fairshare.ray.messages import DriverOptions
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web.standby import serve_as_standby as serve_as_standby
from fairshare.settings.shell import ContainerSettings, RaySettings
from fairshare.wording import cause


def prepared(settings: LiveSettings) -> Callable[[], tuple[LiveServer, tuple[()]]]:
    """What makes the server of these settings, with its engine (`settings.engines.EngineKind`)."""
    check(settings)
    return lambda: (server_on_ray(settings), ())


def check(settings: LiveSettings) -> None:
    """Raise ConfigurationError for what a Ray cluster cannot honour."""
    problems = []
    if find_spec("ray") is None:
        problems.append("a Ray cluster needs an extra: pip install 'fairshare[ray]'")
    problems += token_problems(settings.ray, settings.run_as == "user", os.environ)
    sizes = (settings.memory_mb, settings.vcores, settings.resources)
    if any(sizes) or settings.nodes != 1:
        problems.append(
            "nodes, memory_mb, vcores and resources in [engine] are of the local engine: Ray says"
            " what its nodes have (ray start --num-cpus, --memory, --resources)"
        )
    if settings.hadoop.enabled == "yes":
        problems.append("Hadoop's ports need the engine local or nodemanagers")
    if problems:
        raise ConfigurationError(problems)


def token_problems(
    ray: RaySettings, as_users: bool, environment: Mapping[str, str]
) -> Iterator[str]:
    """What is wrong with the proof that Ray's processes give each other. Where containers run under
    the accounts of users, agents are root's, and without a proof every user of the network could
    run code as root.
    """
    if ray.token_file is not None:
        try:
            status = Path(ray.token_file).stat()
        except OSError as error:
            yield f"token_file in [ray]: {ray.token_file} cannot be used: {cause(error)}"
            return
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            yield (
                f"token_file in [ray]: {ray.token_file} must be a file of {user_name()} that others"
                f" cannot read: chown {user_name()} and chmod 600 it"
            )
    elif as_users and environment.get("RAY_AUTH_MODE", "").lower() != "token":
        yield (
            'run_as = "user": without a token every user who reaches the Ray cluster runs code as'
            " root on all its nodes: start it with `fairshare node head`, which makes"
            f" {TOKEN_FILE}, and name that file as token_file in [ray]"
        )
    if as_users and ray.address == "auto":
        yield (
            'run_as = "user": which cluster is meant must not be read from /tmp, where every user'
            " can write it: write its address in [ray], HOST:PORT"
        )


def make_engine(settings: LiveSettings, state_directory: Path) -> RayEngine:
    """The engine that the settings describe."""
    names = ContainerSettings.__struct_fields__
    granted = ContainerSettings(**{name: getattr(settings, name) for name in names})
    return RayEngine(
        state_directory,
        DriverOptions(
            address=settings.ray.address,
            token_file=settings.ray.token_file,
            types=settings.types.names,
            fence_s=settings.ray.fence_s,
            partition_label=settings.ray.partition_label,
            autoscale_vcores=settings.ray.autoscale_vcores,
            grants=Grants(granted, settings.node_manager),
        ),
    )


def server_on_ray(settings: LiveSettings) -> LiveServer:
    """A server whose containers run on a Ray cluster; not started yet."""
    server = LiveServer(settings, make_engine)
    assert isinstance(server.engine, RayEngine)
    service = server.service
    server.engine.connect(
        lambda: service.state,
        service.set_silent,
        service.now_ms,
        server.epoch_ms,
        lambda: service.views.queues,
    )
    return server
