"""What the server and its Ray driver say to each other, at the start too, and its form on the
socket between them: a length of four bytes, then a message in MessagePack.

A Ray node is named by Ray's own identifier here, in hexadecimal digits.
"""

import asyncio
import struct

import msgspec

from fairshare.core.model.inputs import ContainerExited, ContainerStarted, DrainNode
from fairshare.engines.local.grants import Grants
from fairshare.engines.protocol import LaunchOrder


class DriverOptions(msgspec.Struct, frozen=True):
    """`address` is Ray's, `cluster` names the agents of one state directory, `types` are the
    server's resource types. An agent fences itself after `fence_s` seconds (see `fence`). The value
    of the Ray label `partition_label` is a node's partition. Ray's autoscaler is asked for nodes up
    to `autoscale_vcores`; 0: never. Without `token_file` Ray looks for a token by itself."""

    address: str
    types: tuple[str, ...]
    fence_s: float
    grants: Grants
    cluster: str = ""
    partition_label: str = ""
    autoscale_vcores: int = 0
    token_file: str | None = None


def token_variables(token_file: str | None) -> dict[str, str]:
    """The variables by which Ray's processes find a token; None: as the environment has them."""
    if token_file is None:
        return {}
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": token_file}


class AgentOptions(msgspec.Struct, frozen=True):
    """`node` is Ray's identifier of the agent's node, `resources` is what it offers, in
    fairshare's types."""

    node: str
    cluster: str
    resources: dict[str, int]
    fence_s: float
    grants: Grants


MOST_BYTES = 256 * 1024 * 1024
"""The longest message; a Python call with its arguments is the longest part of one."""

RAY_NODE = "ray-node"
"""The attribute of a node that has Ray's identifier of it."""

Report = ContainerStarted | ContainerExited | DrainNode
"""The last one has no name of a node: it is the agent's own, which leaves."""


class Launch(msgspec.Struct, frozen=True, tag=True):
    """Start a container on a node. `call` is the content of the order's payload file."""

    node: str
    order: LaunchOrder
    call: bytes = b""


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End a container of a node."""

    node: str
    container: int


class Limit(msgspec.Struct, frozen=True, tag=True):
    """Change the time limit of a container of a node."""

    node: str
    container: int
    time_limit_ms: int | None


class Prune(msgspec.Struct, frozen=True, tag=True):
    """Delete the files of a finished application, on all nodes."""

    application_name: str


class ReadFile(msgspec.Struct, frozen=True, tag=True):
    """Answer with a part of a file of a container: `stdout`, `stderr` or `result`."""

    call: int
    node: str
    application_name: str
    container_name: str
    file: str
    offset: int
    limit: int


class OpenSession(msgspec.Struct, frozen=True, tag=True):
    """Connect with a container: with its terminal, or with a new process for a command."""

    call: int
    node: str
    application_name: str
    container_name: str
    terminal: bool


class SessionBytes(msgspec.Struct, frozen=True, tag=True):
    """The next piece of a connection, in either direction; empty: this side has closed it."""

    call: int
    content: bytes = b""


class SessionTaken(msgspec.Struct, frozen=True, tag=True):
    """A piece has been passed on, and the next one may come; in either direction."""

    call: int


class Leave(msgspec.Struct, frozen=True, tag=True):
    """End all agents with their containers, and the driver."""


class Grow(msgspec.Struct, frozen=True, tag=True):
    """Ask Ray's autoscaler for room for a number of containers of each size (memory-mb and so on),
    in addition to the nodes that there are; for none: withdraw it."""

    sizes: tuple[tuple[dict[str, int], int], ...]


ToDriver = (
    Grow
    | Launch
    | Stop
    | Limit
    | Prune
    | ReadFile
    | OpenSession
    | SessionBytes
    | SessionTaken
    | Leave
)


class NodeUp(msgspec.Struct, frozen=True, tag=True):
    """The agent of a node answers. `resources` is what it has reserved, `running` what it runs,
    and `ended` are the ends that no server has acknowledged."""

    node: str
    host: str
    resources: dict[str, int]
    attributes: dict[str, str]
    running: tuple[int, ...]
    ended: tuple[ContainerExited, ...]


class NodeSilent(msgspec.Struct, frozen=True, tag=True):
    """The agent of a node does not answer; its containers may go on."""

    node: str
    reason: str


class LiveNodes(msgspec.Struct, frozen=True, tag=True):
    """The nodes that Ray says are alive."""

    nodes: tuple[str, ...]


class Reported(msgspec.Struct, frozen=True, tag=True):
    """What happened to containers of a node, in order."""

    node: str
    reports: tuple[Report, ...]


class FilePart(msgspec.Struct, frozen=True, tag=True):
    """The answer to ReadFile: bytes from `offset`, and the size of the file; or what is wrong."""

    call: int
    content: bytes = b""
    size: int = 0
    error: str = ""


class SessionOpened(msgspec.Struct, frozen=True, tag=True):
    """The answer to OpenSession: a connection, or what is wrong; `code` is that of an
    InputError."""

    call: int
    code: str = ""
    error: str = ""


class Trouble(msgspec.Struct, frozen=True, tag=True):
    """Why the cluster cannot be used now; empty: it can."""

    message: str


FromDriver = (
    NodeUp
    | NodeSilent
    | LiveNodes
    | Reported
    | FilePart
    | SessionOpened
    | SessionBytes
    | SessionTaken
    | Trouble
)

_LENGTH = struct.Struct(">I")


def encoded(message: ToDriver | FromDriver) -> bytes:
    """A message with its length."""
    return framed(msgspec.msgpack.encode(message))


def framed(body: bytes) -> bytes:
    """A serialized message with its length."""
    return _LENGTH.pack(len(body)) + body


async def read_body(reader: asyncio.StreamReader) -> bytes | None:
    """The next message, to be decoded; None when the other side has closed the socket.

    Raises ValueError for one that is too long.
    """
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        if length > MOST_BYTES:
            raise ValueError(f"a message of {length} bytes; {MOST_BYTES} is the most")
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
