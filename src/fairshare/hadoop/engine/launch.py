"""What a NodeManager gets to start a container: the launch context with its tokens.

Either the context that a client of Hadoop submitted, or one made of a command of ours. The context
of a master gets the token for port 8030 and Hadoop's two variables (amlauncher.AMLauncher).
"""

from typing import Any

from google.protobuf.message import DecodeError

from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError
from fairshare.hadoop.engine.commands import line_of, variables_of
from fairshare.hadoop.wire.messages import ContainerLaunchContextProto
from fairshare.hadoop.wire.tokens import (
    BadCredentials,
    Token,
    read_credentials,
    write_credentials,
)

PROXY_BASE = "APPLICATION_WEB_PROXY_BASE"
SUBMIT_TIME = "APP_SUBMIT_TIME_ENV"

_ALIAS = ""
"""The name of the master's token among those of its client, as Hadoop adds it."""


def submitted_context(payload: bytes, master_token: Token, name: str, submitted_ms: int) -> Any:
    """The context of a client's submission, for the application's master.

    `name` is the application's, `submitted_ms` when it was submitted. Raises EngineError if the
    context cannot be read.
    """
    try:
        context = ContainerLaunchContextProto.FromString(payload)
        credentials = read_credentials(context.tokens)
    except (DecodeError, BadCredentials) as problem:
        raise EngineError(f"the launch context of {name} cannot be read: {problem}") from problem
    credentials.tokens[_ALIAS] = master_token
    context.tokens = write_credentials(credentials)
    _set_variable(context, PROXY_BASE, f"/proxy/{name}")
    _set_variable(context, SUBMIT_TIME, str(submitted_ms))
    return context


def own_context(order: LaunchOrder) -> Any:
    """The context of a command of ours. Raises EngineError for what only this machine can run."""
    if order.command.is_callable:
        raise EngineError(
            "Python calls run in the server's own interpreter, which NodeManagers do not have:"
            " submit a command, or use the local engine"
        )
    context = ContainerLaunchContextProto(command=[line_of(order)])
    for name, value in variables_of(order).items():
        context.environment.add(key=name, value=value)
    return context


def _set_variable(context: Any, name: str, value: str) -> None:
    for entry in context.environment:
        if entry.key == name:
            entry.value = value
            return
    context.environment.add(key=name, value=value)
