"""Owns the environment of a container: inherited and added variables. Starts nothing.

Little is inherited, so that a container does not depend on how the server was started, and sees
no secret of it.
"""

from collections.abc import Mapping
from pathlib import Path

from fairshare.engines.local.accounts import Account
from fairshare.engines.local.launch import DIRECTORY_VARIABLE
from fairshare.engines.protocol import LaunchOrder

INHERITED = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
)
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def inherited(server: Mapping[str, str]) -> dict[str, str]:
    """What a container inherits of the server's environment; PATH is there in any case."""
    return {"PATH": _DEFAULT_PATH} | {name: server[name] for name in INHERITED if name in server}


def environment(
    order: LaunchOrder,
    directory: Path,
    server: Mapping[str, str],
    account: Account | None = None,
) -> dict[str, str]:
    """The environment of a container: inherited, the command's, the order's, and its own facts.

    Under another account than the server's it has that account's home, name and shell.

    The later wins. So a command that hands on the environment of the container that it was made
    in cannot pass that container's place in its group for its own.
    """
    own = inherited(server)
    if account is not None:
        own.pop("TMPDIR", None)  # it may be the server's alone
        own |= {
            "HOME": account.home,
            "LOGNAME": account.name,
            "SHELL": account.shell,
            "USER": account.name,
        }
    return {
        **own,
        **order.command.environment,
        **order.environment,
        "FAIRSHARE_APPLICATION": order.application_name,
        "FAIRSHARE_CONTAINER": order.container_name,
        DIRECTORY_VARIABLE: str(directory),
        "FAIRSHARE_NODE": order.node,
        "FAIRSHARE_MEMORY_MB": str(order.memory_mb),
        "FAIRSHARE_VCORES": str(order.vcores),
    }
