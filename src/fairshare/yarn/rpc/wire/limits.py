"""What one port takes at most: from one connection, and from all together."""

from msgspec import Struct

_MIB = 1024 * 1024


class RpcLimits(Struct, frozen=True):
    """`frame_bytes`: the longest call; a longer one is refused before it is received. Before the
    login `login_frame_bytes` apply instead.

    `unfinished_bytes`: what calls that are not wholly received may hold over all connections.
    `connections`: open at once. `calls`: of one connection that wait for their answers; the next
    are not read until one of them is answered. `login_s`: from connecting to the first call.
    `frame_s`: to receive one call, and to take one answer. `idle_s`: without a byte, while no call
    is waiting.
    """

    frame_bytes: int = 16 * _MIB
    login_frame_bytes: int = 64 * 1024
    unfinished_bytes: int = 256 * _MIB
    connections: int = 20_000
    calls: int = 100
    login_s: float = 20.0
    frame_s: float = 60.0
    idle_s: float = 120.0
