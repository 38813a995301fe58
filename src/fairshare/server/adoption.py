"""Owns how a server that starts takes over the nodes and containers of the one before it.

Either at once, from an engine that says all; or as nodes return, which this only prepares. Decides
nothing: what it finds out becomes ordinary inputs.
"""

import asyncio
from collections.abc import Callable, Iterable

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited
from fairshare.engines.protocol import HostEngine, Launched
from fairshare.runtime.reconciliation import reconcile
from fairshare.server.journal_epochs import unreported_exits
from fairshare.server.service import Service


async def adopt(
    engine: HostEngine,
    service: Service,
    launched: Launched,
    live: Callable[[], Iterable[ContainerId]],
    exit_of: Callable[[ContainerId], ContainerExited | None],
) -> None:
    """Start an engine, and feed the difference between the state and what it finds.

    Nodes that it does not offer are lost, containers that do not run have ended. Raises
    EngineError.
    """
    engine.start(service.report, launched=launched, failed=service.fail_soon)
    # Running containers are listed before pending reports are processed: a container that ends in
    # between is in both, and one that is in neither never ran.
    running = engine.running()
    await asyncio.sleep(0)
    service.record(unreported_exits(live(), running, exit_of))
    findings = reconcile(service.state, engine.nodes(), running)
    service.record(findings.inputs)
    for container in findings.stops:
        engine.stop(container)


def await_nodes(engine: HostEngine, service: Service) -> None:
    """Start an engine whose nodes register by themselves.

    The state keeps its nodes with all their containers, and nothing is allocated on a node before
    it has returned (`reconcile_node`). The caller that registers nodes lets absent ones expire.
    """
    engine.start(service.report, failed=service.fail_soon)
    for node in service.state.nodes:
        service.set_silent(node)
