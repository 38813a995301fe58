"""Node labels over the REST interface, on a server with the Capacity Scheduler."""

import asyncio
from pathlib import Path

import httpx
import pytest
from tests.unit.server.web.conftest import served

from fairshare.server.settings import Overrides, read_settings

pytestmark = pytest.mark.anyio

CAPACITY = "yarn.scheduler.capacity."
SCHEDULER = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"


def properties(**values: str) -> str:
    entries = (
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    )
    return f"<configuration>{''.join(entries)}</configuration>"


@pytest.fixture
async def http(tmp_path: Path, engine, anyio_backend: str):
    conf = tmp_path / "conf"
    conf.mkdir()
    site = {
        "yarn.resourcemanager.scheduler.class": SCHEDULER,
        "yarn.node-labels.enabled": "true",
        "yarn.acl.enable": "true",
        "yarn.admin.acl": "boss",
    }
    (conf / "yarn-site.xml").write_text(properties(**site))
    queues = {
        CAPACITY + "root.queues": "default",
        CAPACITY + "root.default.capacity": "100",
        CAPACITY + "root.accessible-node-labels.gpu.capacity": "100",
        CAPACITY + "root.default.accessible-node-labels.gpu.capacity": "100",
    }
    (conf / "capacity-scheduler.xml").write_text(properties(**queues))
    (conf / "fairshare.toml").write_text('[labels]\nfixed = "exclusive"\n')
    settings = read_settings(conf, Overrides(port=0, state_directory=tmp_path / "state"))
    async with served(settings, engine) as page:
        yield page.http


async def change(http, verb: str, user: str = "boss", **body: object) -> httpx.Response:
    answer: httpx.Response = await http.post(f"/admin/labels/{verb}", json={"user": user, **body})
    return answer


async def test_labels_are_added_given_to_nodes_and_removed(http):
    assert (await change(http, "add", labels={"gpu": True, "spot": False})).status_code == 200
    assert (await change(http, "assign", nodes={"n1": "gpu"})).status_code == 200
    assert (await http.get("/labels")).json()["labels"] == [
        {"name": "fixed", "exclusive": True, "nodes": []},
        {"name": "gpu", "exclusive": True, "nodes": ["n1"]},
        {"name": "spot", "exclusive": False, "nodes": []},
    ]
    assert (await http.get("/nodes")).json()["nodes"][0]["label"] == "gpu"
    found = await change(http, "remove", labels=["gpu", "spot"])
    assert [label["name"] for label in found.json()["labels"]] == ["fixed"]
    assert (await http.get("/nodes")).json()["nodes"][0]["label"] == ""


async def test_only_administrators_change_labels(http):
    answer = await change(http, "add", user="bob", labels={"gpu": True})
    assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
    assert [one["name"] for one in (await http.get("/labels")).json()["labels"]] == ["fixed"]


async def test_what_cannot_be_is_refused_with_the_reason(http):
    for verb, body, reason in (
        ("add", {"labels": {"a b": True}}, "label name should only contains"),
        ("remove", {"labels": ["gone"]}, "doesn't existed"),
        ("remove", {"labels": ["fixed"]}, "fairshare.toml"),
        ("assign", {"nodes": {"n1": "gone"}}, "not all labels"),
        ("assign", {"nodes": {"n9": "fixed"}, "known": True}, "n9"),
    ):
        answer = await change(http, verb, **body)
        assert answer.status_code in (400, 404, 409), answer.text
        assert reason.lower() in answer.json()["message"].lower()


async def test_an_application_runs_on_the_partition_that_it_asks_for(http, engine):
    await change(http, "add", labels={"gpu": True})
    task = {"command": "true", "resources": {"memory-mb": 1024, "vcores": 1}}
    answer = await http.post("/applications", json={"label": "gpu", "tasks": [task]})
    assert answer.status_code == 201
    assert engine.orders == {}  # no node is there
    await change(http, "assign", nodes={"n1": "gpu"})
    async with asyncio.timeout(60):
        while not engine.orders:
            await asyncio.sleep(0.001)
    answer = await http.get("/applications/1/containers")
    assert [one["node"] for one in answer.json()["containers"]] == ["n1"]
    answer = await http.post("/applications", json={"label": "typo", "tasks": [task]})
    assert answer.status_code == 409
    assert "cluster do not contain" in answer.json()["message"]


async def test_a_scheduler_without_partitions_has_none_and_takes_none(page):
    assert (await page.get("/labels")).json() == {"labels": []}
    answer = await page.post("/admin/labels/add", json={"labels": {"gpu": True}})
    assert (answer.status_code, answer.json()["code"]) == (409, "labels-disabled")
    body = {"queue": "a", "label": "gpu", "tasks": [{"command": "true"}]}
    answer = await page.post("/applications", json=body)
    assert "node labels" in answer.json()["message"]
