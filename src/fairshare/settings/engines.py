"""What configurations know of each engine: one row for each.

To add an engine, write its room, whose setup module puts a server together, and add its row here.
"""

from typing import Final

import msgspec


class EngineKind(msgspec.Struct, frozen=True):
    """One engine. `where` says in words where its containers run.

    `setup` is the module whose `prepared(settings)` raises ConfigurationError for settings that the
    engine cannot honour, and else returns a function that makes the server and what is attached to
    it (`web.listener.AttachedServer`). Its `serve_as_standby(settings, active)` is an asynchronous
    context manager: what a standby answers while the server at the address `active()` works.
    `nodes` is the word for the machines whose sizes and GPUs the engine learns from them; it is
    empty where containers run on the server's own machine. `signals` is whether a container can be
    warned by a signal before it ends, `accounts` whether `run_as = "user"` is honoured.
    """

    name: str
    where: str
    setup: str
    nodes: str = ""
    signals: bool = True
    accounts: bool = True


_HADOOP: Final = "fairshare.yarn.rpc.setup"

ENGINES: Final = {
    one.name: one
    for one in (
        EngineKind("local", "on this machine", _HADOOP),
        EngineKind(
            "nodemanagers",
            "on the NodeManagers of a Hadoop cluster, which register with this server",
            _HADOOP,
            "NodeManagers",
            signals=False,
            accounts=False,
        ),
        EngineKind("ray", "on the nodes of a Ray cluster", "fairshare.ray.setup", "Ray's nodes"),
    )
}
"""The engines by name, in the order in which help lists them."""


def runs_here(engine: str) -> bool:
    """Whether an engine runs containers on the server's own machine."""
    return not ENGINES[engine].nodes


def shares_files(engine: str, run_as: str) -> bool:
    """Whether containers have the accounts and the homes of the server's machine: there, or, under
    the accounts of users, on machines that share both with it."""
    return runs_here(engine) or (ENGINES[engine].accounts and run_as == "user")


def signals(engine: str) -> bool:
    """Whether an engine, maybe one that only a later server has, warns containers by a signal."""
    return engine not in ENGINES or ENGINES[engine].signals
