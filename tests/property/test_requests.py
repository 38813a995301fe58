"""Whatever somebody sends to any path of both interfaces, the server never answers with a defect.

Odd methods, paths, parameters, headers and bodies, sent to one server in this process. A failure
prints the request, and hypothesis adds what repeats it: a line with
`@reproduce_failure`, to be put before the test.
"""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st
from starlette.routing import BaseRoute, Mount, Route
from tests.effort import examples
from tests.manual_engine import ManualEngine

from fairshare.core.model.inputs import NodeBeat, NodeJoined, UpdateShares
from fairshare.server.access.tokens import UserTokens
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.settings.shell import AuthenticationSettings
from fairshare.yarn.rest.answering import YarnRoute

ALLOCATIONS = '<allocations><queue name="a"/><queue name="b"/></allocations>'
CAPACITY = """<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.b.capacity</name><value>50</value></property>
</configuration>"""
MUTABLE = """<configuration><property>
<name>yarn.scheduler.configuration.store.class</name><value>memory</value>
</property><property>
<name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler</value>
</property></configuration>"""

ENDLESS = ("/api/v1/stream", "/api/v1/events", "/api/v1/changes")
"""Answers that stay open by design: other tests know when they end."""

LAST = ("/api/v1/shutdown",)
"""It would end the server that all the others are sent to; only asked without the right to."""

SKELETONS: dict[str, Any] = {
    "/api/v1/applications": {
        "queue": "root.a",
        "name": "x",
        "tags": ["t"],
        "lifetime_s": 5,
        "priority": 1,
        "tasks": [
            {
                "name": "g",
                "count": 2,
                "command": "true",
                "resources": {"memory-mb": 128, "vcores": 1},
                "hosts": ["n1"],
                "racks": [],
                "after": [],
                "slow_start": 0.5,
                "environment": {"A": "b"},
                "time_limit_ms": 5,
            }
        ],
    },
    "/api/jobs": {
        "entrypoint": "true",
        "submission_id": "j",
        "runtime_env": {"env_vars": {"A": "b"}, "working_dir": "gcs://x.zip", "py_modules": []},
        "metadata": {"fairshare.workers": "2", "fairshare.memory": "512m"},
        "entrypoint_num_cpus": 0.5,
    },
    "/requests": {"requests": [{"count": 1, "resources": {"vcores": 1}, "hosts": ["n1"]}]},
    "/tasks": {"tasks": [{"name": "more", "command": "true", "count": 1, "max_attempts": 2}]},
    "/launch": {"command": "true", "environment": {}, "time_limit_ms": 9},
    "/release": {"containers": ["container_1_0001_01_000002"]},
    "/move": {"queue": "root.b"},
    "/priority": {"priority": 3},
    "/state": {"state": "KILLED", "diagnostics": "d"},
    "/queue": {"queue": "root.b"},
    "/timeout": {"timeout": {"type": "LIFETIME", "expiryTime": "2031-02-03T04:05:06.789+0000"}},
    "/ws/v1/cluster/apps": {
        "application-id": "application_1_0009",
        "queue": "root.a",
        "priority": 0,
        "unmanaged-AM": False,
        "max-app-attempts": 2,
        "resource": {"memory": 128, "vCores": 1},
        "application-tags": {"tag": ["a", "b"]},
        "am-container-spec": {
            "commands": {"command": "sleep 1"},
            "environment": {"entry": [{"key": "A", "value": "b"}]},
            "application-acls": {"entry": [{"key": "VIEW_APP", "value": "ann"}]},
        },
    },
    "/resource": {"resource": {"memory": 8192, "vCores": 8}, "overCommitTimeout": -1},
    "/add-node-labels": {"nodeLabelInfo": [{"name": "gpu", "exclusivity": True}]},
    "/replace-node-to-labels": {"nodeToLabels": [{"nodeId": "n1:8088", "labels": ["gpu"]}]},
    "/scheduler-conf": {
        "update-queue": [{"queue-name": "root.a", "params": [{"key": "capacity", "value": "50"}]}],
        "global-updates": [{"entry": [{"key": "x", "value": "y"}]}],
    },
    "/validate": {"add-queue": {"queue-name": "root.c", "params": {"entry": {"key": "capacity"}}}},
    "/admin/configuration": {"update": {"remove-queue": ["root.b"]}, "check": True},
    "/labels/add": {"labels": {"gpu": True}},
    "/labels/remove": {"labels": ["gpu"]},
    "/labels/assign": {"nodes": {"n1": "gpu"}, "known": True},
}
"""A body that makes sense, by the end of its path: a part of it is made odd."""

EXAMPLES = int(os.environ.get("FAIRSHARE_REQUESTS", examples(120)))
"""Requests for each scheduler. To look for longer: `FAIRSHARE_REQUESTS=20000 pytest` this file."""

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FOO")


class Served:
    """One server in a loop of its own, with an application, and two tokens."""

    def __init__(self, scheduler: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fairshare-requests-"))
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self._begin(scheduler))

    async def _begin(self, scheduler: str) -> None:
        conf = self.folder / "conf"
        conf.mkdir()
        if scheduler == "capacity":
            (conf / "yarn-site.xml").write_text(MUTABLE)
            (conf / "capacity-scheduler.xml").write_text(CAPACITY)
        else:
            (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
        overrides = Overrides(port=0, state_directory=self.folder / "state")
        chosen = msgspec.structs.replace(
            read_settings(conf, overrides), authentication=AuthenticationSettings(tokens=True)
        )
        engine = ManualEngine(self.folder / "containers", starts=False, stops=False)
        self.live = LiveServer(chosen, lambda _, path: engine)
        await self.live.start("http://localhost:8088")
        await self.live.service.ask(NodeJoined("n1", (8192, 8)))
        self.app = build_app(self.live)
        tokens = UserTokens(self.live.directory.path)
        self.tokens = [tokens.create("ann", 0), tokens.create("root", 0, administrator=True)]
        task = {"command": "true", "resources": {"memory-mb": 128, "vcores": 1}}
        body = {"queue": "root.a", "tasks": [task]}
        async with self._client(self.tokens[0]) as ann:
            answer = await ann.post("/api/v1/applications", json=body)
            self.application = answer.json()["id"]
            driver = {"queue": "root.a", "driver": {"command": "drive"}}
            self.driver = (await ann.post("/api/v1/applications", json=driver)).json()["id"]
        await self.live.service.ask(UpdateShares())
        for _ in range(3):
            await self.live.service.ask(NodeBeat("n1"))
        number = int(self.driver.rpartition("_")[2])
        attempt = self.live.service.state.applications[number].attempt.number
        self.tokens.append(self.live.tokens.issue(number, attempt))
        self.paths = sorted(set(_paths(self.app.routes)))

    def _client(self, token: str | None) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
        return httpx.AsyncClient(
            transport=transport, base_url="http://localhost:8088", headers=headers
        )

    def send(self, token: int | None, method: str, path: str, **more: Any) -> httpx.Response:
        async def call() -> httpx.Response:
            async with self._client(None if token is None else self.tokens[token]) as http:
                async with asyncio.timeout(20):
                    return await http.request(method, path, **more)

        return self.loop.run_until_complete(call())

    def known(self, name: str) -> list[str]:
        """What a part of a path may be that means something."""
        epoch_ms = self.live.service.state.epoch_ms
        return {
            "application": [self.application, self.driver, "1", "2"],
            "attempt": [
                one.replace("application", "appattempt") + "_000001"
                for one in (self.application, self.driver)
            ],
            "container": [f"container_{epoch_ms}_000{n}_01_000001" for n in (1, 2)],
            "node": ["n1:8088", "n1"],
            "queue": ["root.a", "root"],
            "command": ["FORCEFUL_SHUTDOWN", "OUTPUT_THREAD_DUMP"],
            "stream": ["stdout", "stderr"],
            "type": ["LIFETIME"],
            "job": ["j"],
            "protocol": ["gcs"],
            "package": ["x.zip"],
        }.get(name, ["x", "1"])

    def close(self) -> None:
        self.loop.run_until_complete(self.live.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder)


def _paths(routes: list[BaseRoute], before: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every path with the methods that it takes."""
    for route in routes:
        if isinstance(route, Mount):
            yield from _paths(list(route.routes or ()), before + route.path)
        elif isinstance(route, YarnRoute):
            yield before + route.path, tuple(sorted(route._handlers))
        elif isinstance(route, Route):
            yield before + route.path, tuple(sorted(route.methods or {"GET"}))


@pytest.fixture(scope="module", params=["fair", "capacity"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    found = Served(request.param)
    yield found
    found.close()


ODD = st.one_of(
    st.sampled_from(
        [
            *("", "0", "-1", "1", "9" * 30, "9" * 5000, "٣", "²", "nan", "inf", "1e400", "0x1"),
            *("..", ".", "%00", "%2e%2e%2f", "a/b", "root", "root.a", "root.", ".", "*", "a,b,,c"),
            *("application_1_1", "application_0_0", "application_1_-1", "application__", "RUNNING"),
            *("container_1_1_1_1", "container_e1_1_1_1_1", "container_1_1_1_99999999999999999999"),
            *(
                "appattempt_1_1_1",
                "localhost:1",
                "n1:0",
                "true",
                "null",
                "[]",
                "{}",
                "<a/>",
                "\x7f",
            ),
            *("LIFETIME", "KILLED", "2031-13-41T99:99:99Z", "0001-01-01T00:00:00+2359", "%s%n"),
        ]
    ),
    st.text(max_size=12),
)

_PARAMETERS = """
    since timeout limit state user queue offset states finalStatus startedTimeBegin
    startedTimeEnd finishedTimeBegin finishedTimeEnd applicationTypes applicationTags name
    deSelects user.name doAs nodeId groupBy maxTime requestPriorities allocationRequestIds
    actions summarize labels queue-acl-type activitiesCount qry get healthy after to from
"""
PARAMETERS = _PARAMETERS.split()

_KEYS = """
    user queue name tasks driver master resources memory-mb vcores memory vCores command
    arguments environment callable count requests containers priority state timeout type
    expiryTime application-id am-container-spec commands entry key value resource
    resourceOption labels nodes node nodeLabelInfo nodeToLabels nodeId exclusivity known
    update update-queue add-queue remove-queue global-updates params queue-name succeeded
    diagnostics time_limit_ms hosts racks relax label request tags groups lifetime_s on
    timeout_ms check unmanaged-AM application-tags application-acls application-name
    application-type max-app-attempts reservation-id
"""
KEYS = _KEYS.split()


def made_odd(draw: st.DrawFn, value: Any, leaf: st.SearchStrategy[Any]) -> Any:
    """A copy with about one of its parts replaced, left out or wrapped."""
    what = draw(st.integers(0, 9))
    if what == 0:
        return draw(leaf)
    if what == 1:
        return draw(st.sampled_from([[value], {"entry": value}, {"x": value}, [value, value]]))
    if isinstance(value, dict):
        kept = {name: made_odd(draw, inner, leaf) for name, inner in value.items()}
        if what == 2 and kept:
            del kept[draw(st.sampled_from(sorted(kept)))]
        return kept
    if isinstance(value, list):
        return [made_odd(draw, inner, leaf) for inner in value]
    return value


@st.composite
def bodies(draw: st.DrawFn, path: str) -> tuple[str, bytes]:
    """A content type and what pretends to be of it."""
    leaf = st.one_of(
        *(st.none(), st.booleans(), st.floats(), ODD),
        st.integers(-(2**70), 2**70),
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.one_of(st.sampled_from(KEYS), ODD), inner, max_size=4),
        ),
        max_leaves=12,
    )
    odd_forms = ["json", "xml", "form", "bytes", "none", "deep", "bomb"]
    skeleton = next(
        (body for end, body in SKELETONS.items() if path.rstrip("/").endswith(end)), None
    )
    if skeleton is not None and draw(st.integers(0, 4)):
        odd = made_odd(draw, skeleton, leaf)
        return "application/json", json.dumps(odd).encode("utf-8", "surrogatepass")
    form = draw(st.sampled_from(odd_forms))
    if form == "json":
        return "application/json", json.dumps(draw(tree)).encode("utf-8", "surrogatepass")
    if form == "xml":
        names = [*KEYS, "appstate", "application-submission-context", "sched-conf", "timeout"]
        name = draw(st.sampled_from(names))
        inner = draw(st.sampled_from(["", "<a>1</a>", "<state>KILLED</state>", "&amp;", "&x;"]))
        return "application/xml", f"<{name}>{inner}</{name}>".encode()
    if form == "deep":
        depth = draw(st.sampled_from([100, 100_000]))
        return draw(
            st.sampled_from(
                [
                    ("application/json", b"[" * depth + b"]" * depth),
                    ("application/json", b'{"a":' * depth + b"1" + b"}" * depth),
                    ("application/xml", b"<a>" * depth + b"</a>" * depth),
                ]
            )
        )
    if form == "bomb":
        entity = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
        return "application/xml", entity + b"<appstate><state>&b;</state></appstate>"
    if form == "form":
        return "application/x-www-form-urlencoded", draw(st.binary(max_size=20)) + b"=&time=%ff"
    return draw(ODD).encode("ascii", "ignore").decode().strip(), draw(st.binary(max_size=60))


HEADERS = st.dictionaries(
    st.sampled_from(
        [
            *("Accept", "Accept-Encoding", "Content-Encoding", "Cookie", "Range"),
            *("If-None-Match", "If-Modified-Since", "Last-Event-ID", "X-Forwarded-For"),
            *("Access-Control-Request-Method", "Transfer-Encoding", "X-Forwarded-User"),
        ]
    ),
    st.one_of(
        st.sampled_from(
            [
                *("gzip", "application/xml", "text/html;q=x", "*/*;q=nan", "bytes=9-1", "bytes=-"),
                *("hadoop.auth=u=a&e=x&s=y", "http://localhost:8088", ";;;,,,", "same-origin"),
            ]
        ),
        st.binary(max_size=20).map(lambda b: bytes(c for c in b if c > 31 and c != 127)),
    ),
    max_size=3,
)


@pytest.mark.slow
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_request_meets_a_defect(served: Served, data: st.DataObject) -> None:
    form, methods = data.draw(st.sampled_from(served.paths))
    path = form
    for name in [part.split("}")[0] for part in form.split("{")[1:]]:
        known = st.sampled_from(served.known(name.partition(":")[0]))
        value = data.draw(st.one_of(known, known, known, ODD), label=name)
        path = path.replace("{" + name + "}", str(httpx.QueryParams({"x": value}))[2:])
    usual = st.sampled_from(methods)
    method = data.draw(st.one_of(usual, usual, usual, st.sampled_from(METHODS)), label="method")
    token = data.draw(st.sampled_from([1, 1, 1, 2, 0, None]), label="token")
    if path.startswith(ENDLESS) or path.rstrip("/") in LAST:
        token = None
    parameters = data.draw(
        st.lists(st.tuples(st.sampled_from(PARAMETERS), ODD), max_size=3), label="parameters"
    )
    headers = data.draw(HEADERS, label="headers")
    kind, body = data.draw(bodies(path), label="body")
    if kind and kind.isascii() and kind.isprintable():
        headers["Content-Type"] = kind
    note(f"{method} {path} {parameters} {headers} {body[:200]!r}")
    answer = served.send(
        *(token, method, path),
        params=parameters,
        headers=headers,
        content=body,
    )
    event(f"{answer.status_code}")
    # YARN's own word for signalling a container that is not there, and for what it cannot dispatch.
    signal = "/signal/" in path and answer.status_code == 500 and "ontainer" in answer.text
    undispatched = path.startswith("/ws/") and answer.status_code == 503
    assert answer.status_code < 500 or signal or undispatched, answer.text
    assert "Traceback" not in answer.text
    assert served.live.service.failure is None
