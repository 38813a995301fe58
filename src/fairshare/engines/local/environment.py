"""Owns the environment of a container: inherited and added variables. Starts nothing.

Few variables are inherited, so that a container does not depend on how the server was started, and
does not see the server's secrets.
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
    """The variables that a container inherits from the server; PATH always exists."""
    return {"PATH": _DEFAULT_PATH} | {name: server[name] for name in INHERITED if name in server}


def environment(
    order: LaunchOrder,
    directory: Path,
    server: Mapping[str, str],
    account: Account | None = None,
) -> dict[str, str]:
    """The environment of a container: inherited, the command's, the order's, and the container's
    own variables; later ones override earlier ones.

    Under another account than the server's it has that account's home, name and shell. Because of
    the order, a command that contains the environment of the container in which it was created
    cannot override the index of its own task.
    """
    own = inherited(server)
    if account is not None:
        own.pop("TMPDIR", None)  # it may be accessible to the server only
        own |= {
            "HOME": account.home,
            "LOGNAME": account.name,
            "SHELL": account.shell,
            "USER": account.name,
        }
    return {
        **own,
        **order.command.environment,
        "FAIRSHARE_NODE": order.node,  # an agent's order has the cluster's name of the node
        **order.environment,
        "FAIRSHARE_APPLICATION": order.application_name,
        "FAIRSHARE_CONTAINER": order.container_name,
        DIRECTORY_VARIABLE: str(directory),
        "FAIRSHARE_MEMORY_MB": str(order.memory_mb),
        "FAIRSHARE_VCORES": str(order.vcores),
    }
