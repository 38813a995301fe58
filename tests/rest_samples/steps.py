"""What the steps of a sample's scenario do to our server.

Masters beat after each step: they register, and launch what they were granted. What runs on a node,
and what ended there, is known to the server with the node's next heartbeat.
"""

from typing import Any

from tests.observing import follower
from tests.rest_samples.server import SampleServer

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationRejected, ApplicationSubmitted, Event, ExitCode
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_name
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    DecommissionNode,
    Input,
    KillApplication,
    LaunchContainer,
    MasterRegistered,
    NodeBeat,
    NodeJoined,
    NodeLost,
    NodeResized,
    RequestContainers,
    SubmissionDetails,
    SubmitApplication,
    UnregisterMaster,
    UpdateShares,
)
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import Command, ContainerRequest
from fairshare.core.record import Record
from fairshare.errors import InputError
from fairshare.runtime.projections.node_history import Utilization

MASTER_PORT = 5000
A_DAY_MS = 86_400_000


class Driver:
    """Brings one server into the state of a scenario, and further."""

    def __init__(self, server: SampleServer, scenario: dict[str, Any]) -> None:
        self._server = server
        self._scenario = scenario
        self._numbers: dict[str, ApplicationId] = {}
        self._urls: dict[ApplicationId, str] = {}
        self._silent: set[ApplicationId] = set()
        self._exits: dict[ContainerId, ContainerExited] = {}

    @property
    def _state(self) -> Any:
        return self._server.live.scheduler.state

    async def begin(self) -> None:
        """The nodes join, then the steps of the scenario."""
        for node in self._scenario.get("nodes", []):
            await self._add_nodes(node)
        await self._ask(UpdateShares())  # a node that joins wakes Hadoop's update thread
        for step in self._scenario.get("steps", []):
            await self.run(step)

    async def run(self, step: dict[str, Any]) -> None:
        """One step."""
        ((kind, argument),) = step.items()
        method = getattr(self, f"_step_{kind}", None)
        if method is None:
            raise ValueError(f"there is no step '{kind}'")
        await method(argument)
        await self.settle()

    async def settle(self) -> None:
        """The masters beat until nothing is left to do."""
        for application in list(self._state.applications.values()):
            await self._beat(application)

    async def _ask(self, wish: Input) -> tuple[Event, ...]:
        return await self._server.live.service.ask(wish)

    async def _beat(self, application: Application) -> None:
        number = application.id
        if not application.managed and application.attempt.active and not application.over:
            last = self._server.gateway.attempt_history.of(number).attempt
            if last is not None and not last.host:
                last.host, last.rpc_port = "client", MASTER_PORT
        if (
            number in self._silent
            or not application.attempt.active
            or application.attempt.master is None
        ):
            return
        if not application.attempt.registered:
            node = application.containers[application.attempt.master].node
            await self._ask(MasterRegistered(number, node, MASTER_PORT, self._urls.get(number, "")))
        if application.attempt.unregistered is None:
            for container in tuple(application.containers):
                if (
                    container != application.attempt.master
                    and container not in application.attempt.launched
                ):
                    await self._ask(LaunchContainer(number, container, Command()))

    def _of(self, name: str) -> Application:
        found: Application = self._state.applications[self._numbers[name]]
        return found

    def _vector(self, amounts: dict[str, int]) -> Resource:
        vector: Resource = self._state.types.vector(amounts)
        return vector

    def _requests(self, asks: list[dict[str, Any]]) -> tuple[ContainerRequest, ...]:
        return tuple(
            ContainerRequest(
                count=ask.get("count", 1),
                resource=self._vector(ask["resources"]),
                priority=ask.get("priority", 1),
                hosts=tuple(ask.get("hosts", ())),
                racks=tuple(ask.get("racks", ())),
                relax=ask.get("relax", True),
                request=ask.get("id", 0),
                location=ask.get("location", ""),
                label=ask.get("label"),
            )
            for ask in asks
        )

    # Applications.

    async def _step_submit(self, step: dict[str, Any]) -> None:
        user = step.get("user", "user")
        acls = step.get("acls", {})
        master = step.get("am")
        wish = SubmitApplication(
            user=user,
            queue=step.get("queue", "default"),
            name=step.get("name", step["app"]),
            groups=await self._server.gateway.groups_of(user),
            priority=step.get("priority"),
            tags=tuple(sorted(tag.lower() for tag in step.get("tags", ()))),
            master=None if master is None else self._vector(master),
            requests=self._requests(step.get("asks", [])),
            lifetime_s=step.get("lifetime", 0),
            details=SubmissionDetails(
                type=step.get("type", "YARN"),
                max_attempts=step.get("max_attempts", 0),
                view_acl=acls.get("VIEW_APP"),
                modify_acl=acls.get("MODIFY_APP"),
            ),
        )
        self._numbers[step["app"]] = self._state.next_application
        try:
            events = await self._ask(wish)
        except InputError:
            if "error" not in step:
                raise
            return
        for event in events:
            if isinstance(event, ApplicationSubmitted | ApplicationRejected):
                self._urls[event.application] = step.get("url", "")
                if step.get("register") is False:
                    self._silent.add(event.application)

    async def _step_ask(self, step: dict[str, Any]) -> None:
        await self._ask(RequestContainers(self._of(step["app"]).id, self._requests(step["asks"])))

    async def _step_progress(self, step: dict[str, Any]) -> None:
        self._server.gateway.attempt_history.report_progress(
            self._of(step["app"]).id, step["value"]
        )

    async def _step_kill(self, name: str) -> None:
        application = self._of(name)
        text = application_name(self._state.epoch_ms, application.id)
        words = f"Application {text} was killed by user {application.user}"
        await self._ask(KillApplication(application.id, words))

    async def _step_finish(self, step: Any) -> None:
        step = {"app": step} if isinstance(step, str) else step
        application = self._of(step["app"])
        if "containers" in step:
            found = [
                container
                for container, grant in application.containers.items()
                if container != application.attempt.master
                and container not in self._exits
                and step.get("on") in (None, grant.node)
            ]
            for container in found[: step["containers"]]:
                self._exits[container] = ContainerExited(container, 0)
            return
        await self._unregister(step)
        for container in application.containers:
            self._exits[container] = ContainerExited(container, 0)

    async def _step_unregister(self, step: dict[str, Any]) -> None:
        await self._unregister(step)

    async def _unregister(self, step: dict[str, Any]) -> None:
        await self._ask(
            UnregisterMaster(
                self._of(step["app"]).id,
                step.get("final_status", "SUCCEEDED"),
                step.get("diagnostics", ""),
                step.get("url", ""),
            )
        )

    async def _step_fail(self, step: dict[str, Any]) -> None:
        master = self._of(step["app"]).attempt.master
        assert master is not None, f"{step['app']} has no master that could fail"
        self._exits[master] = ContainerExited(master, step["exit"], step.get("diagnostics", ""))

    # Nodes and time.

    async def _step_heartbeat(self, step: Any) -> None:
        times = 1
        if isinstance(step, dict):
            times, step = step.get("times", 1), step["node"]
        names = [step] if isinstance(step, str) else step
        for _ in range(times):
            for name in names:
                for node in list(self._state.nodes) if name == "all" else [name]:
                    await self._beat_node(node)

    async def _beat_node(self, node: str) -> None:
        await self._report_containers(self._state.nodes[node])
        late = []
        for container in list(self._exits):
            found = self._state.nodes[node].containers.get(container)
            if found is None:
                continue
            if found.master and self._exits[container].exit_code:
                late.append(self._exits.pop(container))
            else:
                await self._ask(self._exits.pop(container))
        if not await self._ask(NodeBeat(node)):  # what came to nothing is in no record
            record = Record(0, self._server.gateway.now_ms(), NodeBeat(node), ())
            follower(self._server.live.projections, self._server.live.scheduler)(record)
        for exited in late:  # Hadoop begins the next attempt when the node's update is over
            await self._ask(exited)
        await self.settle()

    async def _report_containers(self, node: Node) -> None:
        """What has begun there since the last heartbeat, and the end of what was stopped."""
        for container in tuple(node.ending):
            await self._ask(ContainerExited(container, ExitCode.ABORTED))
        for container, grant in tuple(node.containers.items()):
            application = self._state.applications[grant.application]
            if container == application.attempt.master or container in application.attempt.launched:
                await self._ask(ContainerStarted(container, holds_room=True))

    async def _step_update(self, passes: int) -> None:
        for _ in range(passes):
            await self._ask(UpdateShares())

    async def _step_settle(self, step: Any) -> None:
        """Nothing: all is handled at once."""

    async def _add_nodes(self, node: dict[str, Any]) -> None:
        count = node.get("count", 1)
        names = [node["name"]]
        if "count" in node:
            names = [f"{node['name']}{number}" for number in range(1, count + 1)]
        for name in names:
            rack = node.get("rack", "/default-rack")
            await self._ask(NodeJoined(name, self._vector(node["resources"]), rack))

    async def _step_node(self, step: dict[str, Any]) -> None:
        ((kind, argument),) = step.items()
        gone = {"lose": "LOST", "shutdown": "SHUTDOWN", "decommission": "DECOMMISSIONED"}
        if kind == "add":
            await self._add_nodes(argument)
        elif kind in gone:
            await self._ask(NodeLost(argument, gone[kind]))
        elif kind == "decommissioning":
            await self._ask(DecommissionNode(argument, A_DAY_MS))
        elif kind == "unhealthy":
            await self._ask(NodeLost(argument["name"], "UNHEALTHY", argument.get("report", "")))
        elif kind == "utilization":
            self._server.gateway.node_history.utilization[argument["name"]] = Utilization(
                argument.get("physical", 0), argument.get("virtual", 0), argument.get("cpu", 0.0)
            )
            await self._beat_node(argument["name"])  # what it reports, it reports by a heartbeat
        elif kind == "resize":
            await self._ask(NodeResized(argument["name"], self._vector(argument["resources"])))
        elif kind == "remove":
            await self._ask(NodeLost(argument))
        else:
            raise ValueError(f"there is no step 'node: {kind}'")
