"""Hadoop's messages and enums as names to import, under exactly Hadoop's names.

    from fairshare.yarn.rpc.wire.messages import NodeActionProto, NodeHeartbeatRequestProto

Classes are made when they are first asked for; nested ones are attributes of the outer class.
Two values differ from Hadoop's: DecommissionTypeProto has DECOMMISSION_NORMAL,
DECOMMISSION_GRACEFUL and DECOMMISSION_FORCEFUL (names do not travel). Type checkers read the stub
beside this file, which `make protocols` writes from the descriptors.
"""

from typing import Any

from fairshare.yarn.rpc.wire.descriptors import message_or_enum


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        kind = message_or_enum(name)
    except KeyError:
        raise AttributeError(f"Hadoop has no message or enum {name!r}") from None
    globals()[name] = kind
    return kind
