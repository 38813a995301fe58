"""What a NodeManager gets to start a container: the launch context with its tokens. Either the
context that a client of Hadoop submitted, or one made of a command of ours.

The context of a master gets the token for port 8030 and Hadoop's two variables
(amlauncher.AMLauncher). The token of a driver is a secret among the container's tokens: a
NodeManager copies its script, with all variables, to the logs.

A NodeManager writes `export NAME="VALUE"` and `exec /bin/bash -c "LINE"` into a script, without
escaping anything, after it has replaced `<LOG_DIR>`, `<CPS>`, `{{NAME}}` and the like. So texts are
escaped for double quotes here, and what it would replace is broken up by quotes. Source: Hadoop
3.4.1, ContainerLaunch.UnixShellScriptBuilder and expandEnvironment.
"""

import re
import shlex
import sys
from pathlib import Path
from typing import Final

import msgspec
from google.protobuf.message import DecodeError

from fairshare.core.model.work import Command
from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError
from fairshare.settings.nodes import GRACE_MS
from fairshare.yarn.rpc.engine.call_program import CALL_SECRET
from fairshare.yarn.rpc.wire.messages import ContainerLaunchContextProto
from fairshare.yarn.rpc.wire.tokens import (
    BadCredentials,
    Credentials,
    Token,
    read_credentials,
    write_credentials,
)

LOGS = "1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"

TOKEN = "FAIRSHARE_TOKEN"  # noqa: S105 - the name of a variable
_FIND_TOKEN = f"sed -n '/^{TOKEN}=/{{s///p;q}}' \"$HADOOP_TOKEN_FILE_LOCATION\""
_READ_TOKEN = f'export {TOKEN}="$({_FIND_TOKEN})"; '

_SPECIAL = re.compile(r'([\\"$`])')
_REPLACED = re.compile(r"(?<=\{)(?=\{)|(?<=\})(?=\})|(?<=<)(?=[A-Z_]+>)")


TIMED_OUT: Final = 124
"""The exit code of a command that was over its limit."""


def line_of(order: LaunchOrder) -> str:
    """The line that runs an order's arguments in its directory, within its time limit.

    A command that is over its limit is ended with SIGTERM and then SIGKILL; its exit code is
    TIMED_OUT, and its stderr says so.
    """
    command = shlex.join(order.command.arguments)
    if order.time_limit_ms is not None:
        command = f"timeout --verbose -k 1 {order.time_limit_ms / 1000:g} {command}"
    before = _READ_TOKEN if token_of(order) else ""
    if order.command.umask is not None:
        before += f"umask {order.command.umask:03o}; "
    if order.command.directory is not None:
        sign = ";" if order.command.directory_optional else " &&"  # bash says why in stderr
        before += f"cd {shlex.quote(order.command.directory)}{sign} "
    # Only single quotes can be around what the node would replace: shlex quotes braces and <.
    parted = _REPLACED.sub("''", f"{before}exec {command}")
    return f"{_escaped(parted)} {LOGS}"


def unsupported(command: Command) -> str:
    """The field of a command that a NodeManager cannot honour; empty if there is none."""
    if command.grace_ms is not None:
        return f"grace: {GRACE_MS} of the NodeManagers decides it"
    if command.end_signal is not None:
        return "a signal before the end: NodeManagers send SIGTERM"
    if command.limits:
        return f"limits ({', '.join(command.limits)}): NodeManagers set no limits of processes"
    if command.image is not None:
        return "image: NodeManagers run images by YARN_CONTAINER_RUNTIME_TYPE=docker, a variable"
    if command.terminal:
        return "a terminal: the containers of NodeManagers cannot be attached to"
    for name in ("output", "error", "input"):
        if getattr(command, name):
            return f"{name}: NodeManagers have their own places for what containers read and write"
    return ""


def variables_of(order: LaunchOrder) -> dict[str, str]:
    """The variables of an order for the node's script: the command's, the task's, and our own,
    without secrets."""
    variables = {
        **order.command.environment,
        **order.environment,
        "FAIRSHARE_APPLICATION": order.application_name,
        "FAIRSHARE_CONTAINER": order.container_name,
        "FAIRSHARE_NODE": order.node,
        "FAIRSHARE_MEMORY_MB": str(order.memory_mb),
        "FAIRSHARE_VCORES": str(order.vcores),
    }
    variables.pop(TOKEN, None)
    return {name: _REPLACED.sub('""', _escaped(value)) for name, value in sorted(variables.items())}


def token_of(order: LaunchOrder) -> str:
    """The token by which a driver calls this server; empty if the order has none."""
    return order.environment.get(TOKEN) or order.command.environment.get(TOKEN, "")


def _escaped(text: str) -> str:
    """`text` within double quotes of a shell."""
    return _SPECIAL.sub(r"\\\1", text)


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


def submitted_context(
    payload: bytes, master_token: Token, name: str, submitted_ms: int
) -> ContainerLaunchContextProto:
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


def own_context(order: LaunchOrder, call: bytes = b"") -> ContainerLaunchContextProto:
    """The context of a command of ours; `call` is the pickle if it is a Python call."""
    if order.command.is_callable:
        order = msgspec.structs.replace(order, command=_call_command(order.command))
    context = ContainerLaunchContextProto(command=[line_of(order)])
    secrets = {}
    if token := token_of(order):
        # A line of its own, which the command finds in the file of all tokens.
        secrets[_TOKEN_SECRET] = f"\n{TOKEN}={token}\n".encode()
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
        environment=environment,
        directory=command.directory,
        directory_optional=command.directory_optional,
        umask=command.umask,
    )


def _set_variable(context: ContainerLaunchContextProto, name: str, value: str) -> None:
    for entry in context.environment:
        if entry.key == name:
            entry.value = value
            return
    context.environment.add(key=name, value=value)
