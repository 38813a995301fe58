"""One entry point is all that a scheduler of another package needs.

The round robin scheduler of `round_robin.py` gets its configuration, lint, the REST interfaces,
`why`, pages, scenarios, the simulator and snapshots by it. Nothing else in fairshare knows it.
"""

import asyncio
import json
from importlib.metadata import EntryPoint
from pathlib import Path

import httpx
import msgspec
import pytest
from click.testing import CliRunner
from tests.manual_engine import ManualEngine
from tests.unit.settings import round_robin
from tests.unit.settings.round_robin import PER_TURN, RoundRobinSettings

from fairshare.cli.verbs import fairshare
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import LoadConfiguration
from fairshare.core.model.resources import ResourceTypes
from fairshare.engines.protocol import NodeOffer
from fairshare.errors import ConfigurationError
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.scenarios.report import check_scenario
from fairshare.runtime import snapshot
from fairshare.runtime.graph import Kinds
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.settings import registry
from fairshare.settings.directory import read_directory, refresh
from fairshare.settings.family import ReadSettings
from fairshare.settings.linting import lint
from fairshare.settings.registry import FAMILIES, family_of

NAME = round_robin.RoundRobinFamily.name
TASK = {"command": "work", "resources": {"memory-mb": 1024, "vcores": 1}, "count": 3}


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The package is installed: its entry point is the one entry that it needs."""
    entry = EntryPoint(NAME, f"{round_robin.__name__}:RoundRobinFamily", registry.GROUP)
    monkeypatch.setattr(registry, "FAMILIES", dict(FAMILIES))
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    kinds = Kinds()
    kinds.by_tag.update(snapshot.STORED.by_tag)
    kinds._by_class.update(snapshot.STORED._by_class)
    kinds.add_missing = snapshot.STORED.add_missing
    monkeypatch.setattr(snapshot, "STORED", kinds)
    registry._load_installed.cache_clear()
    yield
    registry._load_installed.cache_clear()


@pytest.fixture
def directory(tmp_path):
    """A configuration directory that chooses the scheduler, with turns of two containers."""

    def write(per_turn: object = 2) -> Path:
        rows = {
            "yarn.resourcemanager.scheduler.class": "org.example.RoundRobinScheduler",
            PER_TURN: per_turn,
        }
        properties = "\n".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in rows.items()
        )
        path = tmp_path / "conf"
        path.mkdir(exist_ok=True)
        (path / "yarn-site.xml").write_text(f"<configuration>\n{properties}\n</configuration>")
        return path

    return write


@pytest.fixture
async def server(directory, tmp_path, anyio_backend):
    offer = NodeOffer("n1", "/r1", {"memory-mb": 4096, "vcores": 4}, {})
    engine = ManualEngine(tmp_path / "containers", offer)
    settings = read_settings(directory(), Overrides(port=0, state_directory=tmp_path / "state"))
    made = LiveServer(settings, lambda settings, path: engine)
    await made.start("http://127.0.0.1:1")
    yield made
    await made.close()


@pytest.fixture
async def http(server):
    transport = httpx.ASGITransport(build_app(server), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:1") as client:
        yield client


def test_the_whole_scheduler_has_150_lines_at_most():
    assert len(Path(round_robin.__file__).read_text().splitlines()) <= 150


def test_its_class_in_yarn_site_xml_chooses_it_and_a_property_configures_it(directory):
    found = read_directory(directory())
    assert found.scheduler == NAME
    assert isinstance(found.settings, RoundRobinSettings)
    assert found.settings.containers_per_turn == 2
    assert found.problems == ()


def test_a_wrong_value_is_an_error_with_its_file_and_line(directory):
    with pytest.raises(ConfigurationError, match=r"yarn-site\.xml:3:.*containers-per-turn"):
        read_directory(directory("none"))


def test_lint_applies_its_rules(directory):
    assert [(one.rule, one.line) for one in lint(directory(500))] == [("long-turn", 3)]


@pytest.mark.anyio
async def test_the_rest_interfaces_why_and_a_page_show_it(server, http):
    names = []
    for user in ("ann", "bob"):
        body = {"user": user, "name": f"of {user}", "tasks": [TASK]}
        answer = await http.post("/api/v1/applications", json=body)
        assert answer.status_code == 201, answer.text
        names.append(answer.json()["id"])
    state = server.service.state
    version = -1
    async with asyncio.timeout(60):
        while sum(len(one.containers) for one in state.applications.values()) < 4:
            version = await server.service.changed(version, 5)

    queues = (await http.get("/api/v1/queues")).json()["queues"]
    assert [(queue["name"], queue["policy"]) for queue in queues] == [
        ("root", NAME),
        ("root.default", NAME),
    ]
    assert queues[1]["used"] == {"memory-mb": 4096, "vcores": 4}
    rows = (await http.get("/api/v1/applications")).json()["applications"]
    assert sorted(row["name"] for row in rows) == ["of ann", "of bob"]
    assert (await http.get("/api/v1/cluster")).json()["scheduler"] == NAME

    document = (await http.get("/ws/v1/cluster/scheduler")).json()["scheduler"]["schedulerInfo"]
    assert "root.default" in json.dumps(document)
    apps = (await http.get("/ws/v1/cluster/apps")).json()["apps"]["app"]
    assert {app["queue"] for app in apps} == {"root.default"}

    why = (await http.get(f"/api/v1/applications/{names[1]}/reasons")).json()["reasons"]
    assert why
    assert all(reason["sentence"] for reason in why)

    page = await http.get("/cluster/scheduler")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")


def test_a_scenario_file_runs_with_it():
    text = f"""
scenario: 1
name: Applications take turns
scheduler: {NAME}
properties: {{{PER_TURN}: 2}}
nodes:
  - {{name: n1, resources: {{memory-mb: 5120, vcores: 5}}}}
steps:
  - submit: {{app: first, asks: [{{count: 4, resources: {{memory-mb: 1024, vcores: 1}}}}]}}
  - submit: {{app: second, asks: [{{count: 4, resources: {{memory-mb: 1024, vcores: 1}}}}]}}
  - heartbeat: {{node: n1}}
  - expect: {{apps: {{first: {{containers: 3}}, second: {{containers: 2}}}}}}
"""
    result = check_scenario(read_scenario(text, "turns.yaml"), verify=True)
    assert result.problems == ()
    assert result.result == "passed"


def test_the_simulator_runs_a_workload_with_it(directory, tmp_path):
    workload = tmp_path / "workload.yaml"
    workload.write_text(
        "nodes:\n  - {name: n1, resources: {memory-mb: 2048, vcores: 2}}\n"
        "applications:\n"
        + "".join(
            f"  - {{at: 0s, user: {user}, groups: [{{count: 4, duration: 10s,"
            " resources: {memory-mb: 1024, vcores: 1}}]}\n"
            for user in ("ann", "bob")
        )
    )
    arguments = ["simulate", "--json", "--conf", str(directory(1)), "--workload", str(workload)]
    result = CliRunner().invoke(fairshare, arguments)
    assert result.exit_code == 0, result.output
    applications = json.loads(result.stdout)["applications"]
    assert {one["state"] for one in applications} == {"FINISHED"}


def test_a_snapshot_has_its_state(directory):
    found = read_directory(directory())
    manager = ResourceManager(family_of(NAME).create(found.types))
    settings = b'{"containers_per_turn": 3}'
    manager.handle(1, LoadConfiguration(settings, 1))
    again = thaw(freeze(1, 1, {"manager": manager}))["manager"]
    assert again.scheduler.name == NAME
    assert again.scheduler.state.settings.containers_per_turn == 3


class OwnSettings(msgspec.Struct, frozen=True):
    """What a scheduler must have, and nothing of fairshare.toml."""

    types: ResourceTypes = ResourceTypes()
    minimum_allocation: tuple[int, ...] = (1024, 1)
    maximum_allocation: tuple[int, ...] = (8192, 4)


def test_a_scheduler_may_have_settings_of_its_own_class(directory, monkeypatch):
    family = round_robin.RoundRobinFamily
    monkeypatch.setattr(family, "settings_type", OwnSettings)
    monkeypatch.setattr(family, "read", lambda *_: ReadSettings(OwnSettings()))
    conf = directory()
    found = read_directory(conf)
    assert refresh(found, found.settings).settings == OwnSettings()
    (conf / "fairshare.toml").write_text("[time_limits]\nmaximum_s = 60\n")
    with pytest.raises(ConfigurationError, match=r"fairshare\.toml:1.*does not follow \[time_lim"):
        read_directory(conf)
