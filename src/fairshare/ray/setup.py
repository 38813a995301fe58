"""Puts a server and the engine of a Ray cluster together."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from fairshare.errors import ConfigurationError
from fairshare.ray.engine import RayEngine
from fairshare.ray.messages import ContainerLimits, DriverOptions
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web.standby import serve_as_standby as serve_as_standby


def prepared(settings: LiveSettings) -> Callable[[], tuple[LiveServer, tuple[()]]]:
    """What makes the server of these settings, with its engine (`settings.engines.EngineKind`)."""
    check(settings)
    return lambda: (server_on_ray(settings), ())


def check(settings: LiveSettings) -> None:
    """Raise ConfigurationError for what a Ray cluster cannot honour."""
    problems = []
    if find_spec("ray") is None:
        problems.append("a Ray cluster needs an extra: pip install 'fairshare[ray]'")
    if settings.run_as == "user":
        problems.append(
            'run_as = "user": containers of Ray nodes run as the user of the Ray cluster; leave it'
            " out of [engine]"
        )
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


def make_engine(settings: LiveSettings, state_directory: Path) -> RayEngine:
    """The engine that the settings describe."""
    node_manager = settings.node_manager
    return RayEngine(
        state_directory,
        DriverOptions(
            address=settings.ray.address,
            types=settings.types.names,
            fence_s=settings.ray.fence_s,
            partition_label=settings.ray.partition_label,
            autoscale_vcores=settings.ray.autoscale_vcores,
            limits=ContainerLimits(
                grace_ms=node_manager.grace_ms,
                memory_check=node_manager.memory_check,
                strict_cpu=node_manager.strict_cpu,
                log_limit_mb=settings.log_limit_mb,
                application_disk_mb=settings.application_disk_mb,
                user_disk_mb=settings.user_disk_mb,
                application_kept_containers=settings.application_kept_containers,
                user_kept_containers=settings.user_kept_containers,
                process_limit=settings.process_limit,
                no_new_privileges=settings.no_new_privileges,
                image_program=settings.image_program,
                image_options=settings.image_options,
            ),
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
