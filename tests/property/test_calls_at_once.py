"""Whatever calls arrive at the same time, each is carried out or refused with a reason: none meets
what another one has just changed, and ends as a defect.

The calls of a round are about the same few applications, nodes, bookings, cron jobs and labels,
and the server forgets ended applications at once.
"""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.effort import examples
from tests.manual_engine import ManualEngine
from tests.unit.server.web.conftest import Page, served

from fairshare.engines.protocol import NodeOffer
from fairshare.server.settings import Overrides, read_settings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SCHEDULERS = {
    "fair": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
    "capacity": (
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
    ),
}
CAPACITY = "yarn.scheduler.capacity."
FILES = {
    "fair-scheduler.xml": "<allocations><queue name='a'/><queue name='b'/></allocations>",
    "capacity-scheduler.xml": {
        CAPACITY + "root.queues": "a,b",
        CAPACITY + "root.a.capacity": "50",
        CAPACITY + "root.b.capacity": "50",
        CAPACITY + "maximum-am-resource-percent": "1",
        **{
            f"{CAPACITY}{queue}accessible-node-labels.gpu.capacity": part
            for queue, part in (("root.", "100"), ("root.a.", "100"), ("root.b.", "0"))
        },
    },
}
NODES = ["n1", "n2", "n3"]
NAMES = ["x", "y"]
DRIVERS = ("register", "requests", "tasks", "release", "finish", "launch")
ROUNDS = 40

Call = tuple[str, str, dict[str, Any]]
"""Method, path below /api/v1, and body."""


class Calls:
    """Random calls to one server."""

    def __init__(self, page: Page, seed: int) -> None:
        self.page = page
        self.random = random.Random(seed)
        self.applications: list[str] = ["application_1_0001"]
        self.containers: list[str] = ["container_1_0001_01_000001"]
        self.tokens: dict[str, str] = {}  # of drivers, by application and container
        self.kinds: list[Callable[[], Call]] = [
            self.submission,
            self.submission,
            self.change,
            self.change,
            self.change,
            self.master,
            self.container,
            self.nodes,
            self.booking,
            self.booking,
            self.cron,
            self.labels,
            self.configuration,
            self.reading,
            self.reading,
        ]

    def any(self, *choices: Any) -> Any:
        """One of them."""
        return self.random.choice(choices)

    @property
    def application(self) -> str:
        """One of the latest applications."""
        return self.random.choice(self.applications[-4:])

    def next(self) -> Call:
        """Any call."""
        return self.random.choice(self.kinds)()

    def body(self) -> dict[str, Any]:
        """An application."""
        body: dict[str, Any] = {
            "queue": self.any("a", "b", "root.a", "c"),
            "name": self.any("p", "q"),
        }
        count = self.any(1, 1, 2, 3)
        if self.random.random() < 0.2:
            body |= {"driver": {"command": "drive"}, "master": {"resources": {"memory-mb": 256}}}
        else:
            group = {"name": "g", "command": "true", "count": count, "max_attempts": self.any(1, 2)}
            group["resources"] = {"memory-mb": self.any(512, 1024, 4096), "vcores": 1}
            if self.random.random() < 0.2:
                group |= {"gang": True}
            body["tasks"] = [group]
        if self.random.random() < 0.1:
            body["held"] = True
        if self.random.random() < 0.1:
            body["after"] = [self.dependency()]
        return body

    def dependency(self) -> dict[str, str]:
        """One on any application."""
        return {"application": self.application, "outcome": self.any("ok", "any")}

    def submission(self) -> Call:
        return "POST", self.any("/applications", "/applications", "/estimates"), self.body()

    def change(self) -> Call:
        verb, body = self.any(
            ("kill", {}),
            ("kill", {"task": "0"}),
            ("move", {"queue": self.any("a", "b")}),
            ("priority", {"priority": self.any(0, 3)}),
            ("update", {"name": "new", "time_limit_ms": self.any(0, 60_000)}),
            ("update", {"resources": {"memory-mb": 512}, "at_once": self.any(0, 1)}),
            ("update", {"after": [self.dependency()], "begin_ms": self.any(0, 1)}),
            ("hold", {"held": self.any(True, False)}),
            ("requeue", {}),
            ("resubmit", {"failed": self.any(True, False)}),
        )
        return "POST", f"/applications/{self.application}/{verb}", body

    def master(self) -> Call:
        verb, body = self.any(
            ("register", {}),
            (
                "requests",
                {"requests": [{"count": 2, "resources": {"memory-mb": 512, "vcores": 1}}]},
            ),
            ("tasks", {"tasks": [{"name": self.any("g", "h"), "command": "true", "count": 1}]}),
            ("release", {"containers": self.containers[-2:]}),
            ("finish", {"succeeded": self.any(True, False)}),
        )
        return "POST", f"/applications/{self.application}/{verb}", body

    def container(self) -> Call:
        container = self.random.choice(self.containers[-4:])
        return self.any(
            ("POST", f"/containers/{container}/stop", {}),
            ("POST", f"/containers/{container}/launch", {"arguments": ["work"]}),
            ("GET", f"/containers/{container}/logs/stdout", {}),
            ("GET", f"/containers/{container}/result", {}),
        )

    def nodes(self) -> Call:
        names = self.random.sample(NODES, self.any(1, 1, 2))
        return self.any(
            ("POST", "/admin/nodes/drain", {"nodes": names}),
            ("POST", "/admin/nodes/decommission", {"nodes": names, "timeout_ms": self.any(0, 50)}),
            ("POST", "/admin/nodes/undrain", {"nodes": names}),
            ("POST", "/admin/nodes/undrain", {"nodes": NODES}),
            ("POST", "/admin/safe-mode", {"on": self.random.random() < 0.3}),
        )

    def booking(self) -> Call:
        name = self.random.choice(NAMES)
        if self.random.random() < 0.4:
            return "POST", f"/bookings/{name}/cancel", {}
        span = {
            "from_ms": 0,
            "until_ms": self.page.server.service.now_ms() + self.any(20, 60_000),
        }
        body = {"name": name, "queue": self.any("a", "b"), "resources": {"vcores": 1}}
        return "POST", "/bookings", {**body, "spans": [span], "replace": self.any(True, False)}

    def cron(self) -> Call:
        name = self.random.choice(NAMES)
        if self.random.random() < 0.4:
            body = {"name": name, "schedule": "* * * * *", "submission": self.body()}
            for key in ("after", "held"):
                body["submission"].pop(key, None)
            return "POST", "/cron", {**body, "replace": self.any(True, False)}
        verb = self.any("pause", "resume", "delete", "")
        return (
            ("POST", f"/cron/root/{name}/{verb}", {}) if verb else ("GET", f"/cron/root/{name}", {})
        )

    def labels(self) -> Call:
        label = self.any("gpu", "fpga")
        return self.any(
            ("POST", "/admin/labels/add", {"labels": {label: self.any(True, False)}}),
            ("POST", "/admin/labels/remove", {"labels": [label]}),
            ("POST", "/admin/labels/assign", {"nodes": {self.any(*NODES): self.any("gpu", "")}}),
        )

    def configuration(self) -> Call:
        key, value = self.any(
            ("maximum-capacity", "90"),
            ("state", "STOPPED"),
            ("state", "RUNNING"),
            ("capacity", "0"),
        )
        queue = self.any("root.a", "root.b", "root.c")
        change = {"queue-name": queue, "params": {"entry": [{"key": key, "value": value}]}}
        update = self.any(
            {"update-queue": [change]}, {"add-queue": [change]}, {"remove-queue": [queue]}
        )
        return self.any(
            ("POST", "/admin/refresh-queues", {}),
            ("POST", "/admin/configuration", {"update": update}),
            ("POST", "/admin/configuration/format", {}),
        )

    def reading(self) -> Call:
        application, now_ms = self.application, self.page.server.service.now_ms()
        at = f"at={now_ms - self.any(0, 10, 1_000)}"
        sort = self.any("alive", "-used", "name", "-waited", "queue", "-progress")
        paths = [
            "/applications",
            f"/applications?sort={sort}&offset=0",
            f"/applications?{at}",
            f"/applications/{application}",
            f"/applications/{application}?{at}",
            *(
                f"/applications/{application}/{what}"
                for what in ("tasks", "containers", "reasons", "proof", "eta", "timeline")
            ),
            "/queues",
            f"/queues?{at}",
            "/queues/root.a/owed",
            "/nodes",
            f"/nodes?{at}",
            f"/nodes/{self.any(*NODES)}",
            "/bookings",
            "/cron",
            "/labels",
            "/ledger",
            "/cluster",
            f"/cluster?{at}",
            "/accounting/applications",
            "/accounting/report",
            "/configuration",
            *(
                f"http://127.0.0.1:1{path}"
                for path in (
                    "/metrics",
                    "/readyz",
                    "/ws/v1/cluster/apps",
                    f"/ws/v1/cluster/apps/{application}",
                    f"/ws/v1/cluster/apps/{application}/appattempts",
                    "/ws/v1/cluster/nodes",
                    "/ws/v1/cluster/scheduler",
                    "/ws/v1/cluster/metrics",
                    "/ws/v1/cluster/scheduler/activities",
                )
            ),
        ]
        return "GET", self.random.choice(paths), {}

    async def make(self, call: Call) -> str:
        """Make a call; what is wrong with the answer, if anything is."""
        method, path, body = call
        parameters: dict[str, Any] = {} if method == "GET" else {"json": body}
        token = self.tokens.get(path.split("/")[2] if path.count("/") > 2 else "")
        if token and path.rpartition("/")[2] in DRIVERS:
            parameters["headers"] = {"Authorization": f"Bearer {token}"}
        answer = await self.page.http.request(method, path, **parameters)
        content = answer.json() if answer.headers.get("content-type") == "application/json" else {}
        if path == "/applications" and method == "POST" and answer.status_code == 201:
            self.applications.append(content["id"])
        if answer.status_code == 500 or (answer.status_code >= 400 and not answer.text):
            return f"{method} {path} {body}: {answer.status_code} {answer.text[:500]}"
        return ""


def configured(path: Path, scheduler: str) -> Path:
    """A configuration directory."""
    store = "leveldb" if scheduler == "capacity" else "file"
    site = {
        "yarn.resourcemanager.scheduler.class": SCHEDULERS[scheduler],
        "yarn.node-labels.enabled": "true",
        "yarn.resourcemanager.max-completed-applications": "2",
        "yarn.scheduler.configuration.store.class": store,
    }
    path.mkdir()
    for name, content in {"yarn-site.xml": site, **FILES}.items():
        if isinstance(content, dict):
            entries = (
                f"<property><name>{key}</name><value>{value}</value></property>"
                for key, value in content.items()
            )
            content = f"<configuration>{''.join(entries)}</configuration>"
        (path / name).write_text(content)
    return path


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("seed", range(examples(2)))
async def test_no_call_meets_a_defect_beside_others(
    scheduler: str, seed: int, tmp_path: Path, anyio_backend: str
) -> None:
    offers = [
        NodeOffer(node, f"/r{place % 2}", {"memory-mb": 4096, "vcores": 4}, {})
        for place, node in enumerate(NODES)
    ]
    engine = ManualEngine(tmp_path / "containers", *offers)
    conf = configured(tmp_path / "conf", scheduler)
    settings = read_settings(conf, Overrides(port=0, state_directory=tmp_path / "state"))
    async with served(settings, engine) as page:
        calls = Calls(page, seed)
        for _ in range(ROUNDS):
            wanted = [calls.next() for _ in range(calls.random.randint(2, 12))]
            found = await asyncio.gather(*map(calls.make, wanted))
            assert not any(found), [*filter(None, found), wanted]
            for order in engine.launched[-4:]:
                calls.containers.append(order.container_name)
                if token := order.environment.get("FAIRSHARE_TOKEN"):
                    calls.tokens[order.application_name] = token
                    calls.tokens[order.container_name] = token
            for container in calls.random.sample(sorted(engine.live), len(engine.live) // 3):
                engine.end(container, calls.any(0, 0, 1))
            if calls.random.random() < 0.3:
                await page.server.retention.forget()
