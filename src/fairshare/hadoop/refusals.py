"""Refusals of inputs as Hadoop's exceptions."""

from fairshare.errors import InputError
from fairshare.hadoop.wire.exceptions import RETRIABLE, YARN, RpcError

LATER = frozenset(("too-many-applications", "too-much-handed-in", "disk-full", "busy", "stopping"))
"""Refusals that may pass: clients try again."""


def rpc_error(error: InputError) -> RpcError:
    """What a client gets whose input is refused."""
    return RpcError(RETRIABLE if error.code in LATER else YARN, str(error))
