"""The local engine with one more thing to run: launch contexts of Hadoop's clients and masters. The
launcher of such a container gets the context as JSON, with what a node adds: of auxiliary services
it has MapReduce's shuffle, and says how to do without others.
"""

import base64
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from google.protobuf.message import DecodeError

from fairshare.core.model.identifiers import ContainerId, application_of, attempt_of
from fairshare.core.model.inputs import ContainerExited, Input
from fairshare.core.model.work import Command
from fairshare.core.schedulers.protocol import State
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.protocol import Launched, LaunchOrder
from fairshare.errors import EngineError
from fairshare.wording import cause
from fairshare.yarn.rpc.engine.engine import INVALID_EXIT
from fairshare.yarn.rpc.engine.launch import submitted_context
from fairshare.yarn.rpc.keys import TokenSigner
from fairshare.yarn.rpc.wire.messages import ContainerLaunchContextProto, LocalResourceProto

SHUFFLE: Final = "mapreduce_shuffle"
"""The name of MapReduce's shuffle (Hadoop: ShuffleHandler)."""

VARIABLE: Final = f"NM_AUX_SERVICE_{SHUFFLE}"
"""The variable by which containers know `metadata`, in base64 (Hadoop: AuxiliaryServiceHelper)."""


def metadata(port: int) -> bytes:
    """What masters and containers get to know of the shuffle: its port.

    >>> metadata(13_562).hex()
    '000034fa'
    """
    return port.to_bytes(4)


_INSTEAD: Final = {
    "spark_shuffle": (
        "set spark.shuffle.service.enabled=false; dynamic allocation works without it with"
        " spark.dynamicAllocation.shuffleTracking.enabled=true"
    )
}


def unknown_service(name: str) -> str:
    """Why a launch context that names an auxiliary service is refused, and what to do."""
    instead = _INSTEAD.get(name, "others need NodeManagers (fairshare serve --engine nodemanagers)")
    return (
        f"The auxService:{name} does not exist: nodes of this machine have {SHUFFLE} only;"
        f" {instead}"
    )


INHERITED = (
    "JAVA_HOME",
    "HADOOP_COMMON_HOME",
    "HADOOP_HDFS_HOME",
    "HADOOP_CONF_DIR",
    "CLASSPATH_PREPEND_DISTCACHE",
    "HADOOP_YARN_HOME",
    "HADOOP_HOME",
    "PATH",
    "LANG",
    "TZ",
)
"""Hadoop's default of yarn.nodemanager.env-whitelist."""

_PUBLIC = 1
"""LocalResourceVisibilityProto.PUBLIC."""


def specification(
    context: ContainerLaunchContextProto,
    order: LaunchOrder,
    address: tuple[str, int],
    web_address: tuple[str, int],
    shuffle_port: int,
    local_directory: Path,
    server: Mapping[str, str],
) -> bytes:
    """The launcher's input for a ContainerLaunchContextProto.

    `address` is the node's for masters, `web_address` that of its web server, `shuffle_port`
    of MapReduce's shuffle; `local_directory` is for the files of the application, and `server` are
    the variables of this process. Raises EngineError for files that this node cannot reach, and
    services that it does not have.
    """
    for service in context.service_data:
        if service.key != SHUFFLE:
            raise EngineError(unknown_service(service.key))
    fixed = {
        "CONTAINER_ID": order.container_name,
        "NM_HOST": address[0],
        "NM_PORT": str(address[1]),
        "NM_HTTP_PORT": str(web_address[1]),
        "USER": order.user,
        "LOGNAME": order.user,
        "LOCAL_DIRS": str(local_directory),
        VARIABLE: base64.b64encode(metadata(shuffle_port)).decode(),
    }
    content = {
        "commands": list(context.command),
        "environment": {entry.key: entry.value for entry in context.environment},
        "inherited": {name: server[name] for name in INHERITED if name in server},
        "fixed": fixed,
        "resources": [_resource(entry.key, entry.value) for entry in context.localResources],
        "tokens": base64.b64encode(context.tokens).decode(),
    }
    return json.dumps(content).encode()


def _resource(name: str, resource: LocalResourceProto) -> dict[str, Any]:
    where = resource.resource
    if where.scheme not in ("", "file"):
        raise EngineError(
            f"the resource {name!r} is at {where.scheme}://{where.host}{where.file}; containers on"
            " this machine get file: resources only (fs.defaultFS file:///)"
        )
    return {
        "name": name,
        "path": where.file,
        "size": resource.size,
        "timestamp_ms": resource.timestamp,
        "type": resource.type,
        "pattern": resource.pattern,
        "public": resource.visibility == _PUBLIC,
    }


KILLED_BY_MASTER = -105
"""Hadoop's exit code of a container that its master has stopped."""

_STOPPED = "Container killed by the ApplicationMaster.\n"


class ContextEngine(LocalEngine):
    """Runs what LocalEngine runs, and launch contexts. `connect` before it starts."""

    launcher = Path(__file__).with_name("launcher.py")

    _report: Callable[[Input], None]
    _current_state: Callable[[], State]
    _signer: TokenSigner
    _address_of: Callable[[str], tuple[str, int]]
    _web_address: tuple[str, int] = ("", 0)

    def connect(
        self,
        state: Callable[[], State],
        signer: TokenSigner,
        address_of: Callable[[str], tuple[str, int]],
        web_address: tuple[str, int],
    ) -> None:
        """Connect the engine with the state and the keys; `address_of` is a node's address for
        masters, and that of the shuffle, `web_address` the server's."""
        self._current_state = state
        self._signer = signer
        self._address_of = address_of
        self._web_address = web_address

    def start(
        self,
        report: Callable[[Input], None],
        *,
        launched: Launched | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """As LocalEngine's."""
        self._stopped_by_masters: set[ContainerId] = set()
        self._report = report
        super().start(self._reported, launched=launched, failed=failed)

    def launch(self, order: LaunchOrder) -> None:
        """As LocalEngine's; a launch context is turned into its launcher's specification."""
        if order.command.is_launch_context:
            try:
                order = self._with_specification(order)
            except EngineError as error:
                self._report(ContainerExited(order.container, INVALID_EXIT, str(error)))
                return
        super().launch(order)

    def stop_for_master(self, container: ContainerId) -> None:
        """End a container because its master says so."""
        if container in self.running():
            self._stopped_by_masters.add(container)
        self.stop(container)

    def _reported(self, input_: Input) -> None:
        if type(input_) is ContainerExited and input_.container in self._stopped_by_masters:
            self._stopped_by_masters.discard(input_.container)
            input_ = msgspec.structs.replace(
                input_, exit_code=KILLED_BY_MASTER, diagnostics=_STOPPED + input_.diagnostics
            )
        self._report(input_)

    def _with_specification(self, order: LaunchOrder) -> LaunchOrder:
        context = self._context_of(order)
        content = specification(
            context,
            order,
            self._address_of(order.node),
            self._web_address,
            self._address_of(SHUFFLE)[1],
            self.shared_directory(order.application_name),
            os.environ,
        )
        command = Command(callable=content, is_launch_context=True)
        return msgspec.structs.replace(order, command=command)

    def _context_of(self, order: LaunchOrder) -> ContainerLaunchContextProto:
        payload = order.command.payload
        application = self._current_state().applications.get(application_of(order.container))
        if payload is None or application is None:
            raise EngineError(f"the launch context of {order.container_name} is gone")
        try:
            content = (self._state.path / payload.file).read_bytes()
        except OSError as error:
            raise EngineError(
                f"the launch context of {order.container_name} cannot be read: {cause(error)}"
            ) from error
        if application.attempt.master == order.container:
            token = self._signer.master(application.id, attempt_of(order.container))
            name, submitted_ms = order.application_name, application.submitted_ms
            return submitted_context(content, token, name, submitted_ms)
        try:
            return ContainerLaunchContextProto.FromString(content)
        except DecodeError as error:
            raise EngineError(
                f"the launch context of {order.container_name} cannot be read: {error}"
            ) from error
