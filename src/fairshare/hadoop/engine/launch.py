"""What a NodeManager gets to start a container: the launch context with its tokens.

Either the context that a client of Hadoop submitted, or one made of a command of ours. The context
of a master gets the token for port 8030 and Hadoop's two variables (amlauncher.AMLauncher).
"""

import sys
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError
from fairshare.hadoop.engine.call_program import CALL_SECRET
from fairshare.hadoop.engine.commands import line_of, token_of, token_secret, variables_of
from fairshare.hadoop.wire.messages import ContainerLaunchContextProto
from fairshare.hadoop.wire.tokens import (
    BadCredentials,
    Credentials,
    Token,
    read_credentials,
    write_credentials,
)
from fairshare.model.work import Command

PROXY_BASE = "APPLICATION_WEB_PROXY_BASE"
SUBMIT_TIME = "APP_SUBMIT_TIME_ENV"

_PROGRAM = Path(__file__).with_name("call_program.py").read_text()
_RUN = """\
python="${FAIRSHARE_PYTHON:-$0}"
if [ -z "$FAIRSHARE_PYTHON" ] && ! command -v "$python" >/dev/null; then python=python3; fi
command -v "$python" >/dev/null || {
    echo "this node has no $python to run a Python call: install it with cloudpickle, or name\
 another interpreter in the environment of the call, FAIRSHARE_PYTHON" >&2
    exit 127
}
exec "$python" -c "$1"
"""

_TOKEN_SECRET = "fairshare.token"  # noqa: S105 - the name of a secret

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


def own_context(order: LaunchOrder, call: bytes = b"") -> Any:
    """The context of a command of ours; `call` is the pickle if it is a Python call."""
    if order.command.is_callable:
        order = msgspec.structs.replace(order, command=_call_command(order.command))
    context = ContainerLaunchContextProto(command=[line_of(order)])
    secrets = {_TOKEN_SECRET: token_secret(token)} if (token := token_of(order)) else {}
    if call:
        secrets[CALL_SECRET] = call
    if secrets:
        context.tokens = write_credentials(Credentials(secrets=secrets))
    for name, value in variables_of(order).items():
        context.environment.add(key=name, value=value)
    return context


def _call_command(command: Command) -> Command:
    """The command that runs a Python call, with the interpreter that FAIRSHARE_PYTHON names, else
    the server's own if the node has it at the same path, else python3."""
    arguments = ("/bin/sh", "-c", _RUN, sys.executable, _PROGRAM)
    environment = command.environment
    if command.python is not None:
        environment = {"FAIRSHARE_PYTHON": command.python, **environment}
    return Command(
        arguments,
        environment,
        command.directory,
        directory_optional=command.directory_optional,
        umask=command.umask,
    )


def _set_variable(context: Any, name: str, value: str) -> None:
    for entry in context.environment:
        if entry.key == name:
            entry.value = value
            return
    context.environment.add(key=name, value=value)
