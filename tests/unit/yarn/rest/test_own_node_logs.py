"""The logs of containers of this machine, where clients of a NodeManager ask for them."""

import os

import pytest

from fairshare.core.model.identifiers import container_name
from fairshare.core.model.inputs import KillApplication
from fairshare.yarn.rest import own_node
from fairshare.yarn.rpc.own.launcher import LOGS

pytestmark = pytest.mark.anyio


class Container:
    """The master's container of an application of alice, and its files."""

    def __init__(self, yarn, container: int) -> None:
        self.name = container_name(yarn.state.epoch_ms, container)
        self.files = yarn.server.gateway.files(container)
        self.folder = self.files.work / LOGS
        self.folder.mkdir(parents=True)
        self.files.stdout.write_text("hello from me\n")
        self.files.stderr.write_text("")
        self.files.launch.write_text("{}")
        (self.folder / "syslog").write_text("first words <b>and</b> the last\n")


@pytest.fixture
async def container(yarn) -> Container:
    await yarn.submit()
    await yarn.beat()
    return Container(yarn, yarn.state.applications[1].attempt.master)


async def get(yarn, path: str, **more):
    return await yarn.server.http.get(path, **more)


async def test_the_logs_are_listed_with_their_sizes(yarn, container):
    answer = await get(yarn, f"/ws/v1/node/containers/{container.name}/logs")
    infos = answer.json()["containerLogsInfo"]
    sizes = {log["fileName"]: log["fileSize"] for log in infos["containerLogInfo"]}
    assert sizes == {"stdout": "14", "stderr": "0", "syslog": "32"}
    assert (infos["logAggregationType"], infos["containerId"]) == ("LOCAL", container.name)
    assert infos["nodeId"].startswith("n1:")


async def test_a_log_has_the_frame_that_yarn_logs_prints(yarn, container):
    paths = (
        f"/ws/v1/node/containers/{container.name}/logs/stdout",
        f"/ws/v1/node/containerlogs/{container.name}/stdout",
    )
    for path in paths:
        lines = (await get(yarn, path, headers={"Accept": "text/plain"})).text.splitlines()
        assert lines[0].startswith(f"Container: {container.name} on n1:")
        assert lines[1:4] == ["LogAggregationType: LOCAL", "=" * len(lines[0]), "LogType:stdout"]
        assert lines[5:8] == ["LogLength:14", "LogContents:", "hello from me"]
        assert lines[8].startswith("End of LogType:stdout.This log file belongs to a running")
        assert lines[9] == "*" * 71
        # With this Hadoop's own client logs in.
        options = await yarn.server.http.request("OPTIONS", path)
        assert (options.status_code, options.headers["allow"]) == (200, "OPTIONS,HEAD,GET")


@pytest.mark.parametrize(("size", "content"), [("5", "hello"), ("-3", "me\n"), ("0", "")])
async def test_a_size_asks_for_the_first_or_the_last_bytes(yarn, container, size, content):
    path = f"/ws/v1/node/containers/{container.name}/logs/stdout"
    text = (await get(yarn, path, params={"size": size})).text
    assert f"LogContents:\n{content}End of LogType:stdout" in text


async def test_bytes_are_packed_for_those_that_ask_for_them(yarn, container):
    path = f"/ws/v1/node/containers/{container.name}/logs/stdout?format=octet-stream"
    answer = await get(yarn, path)
    assert answer.headers["content-type"] == "application/octet-stream; charset=utf-8"


async def test_the_page_shows_the_ends_and_leads_to_every_log(yarn, container, monkeypatch):
    page = await get(yarn, f"/node/containerlogs/{container.name}/alice")
    assert (page.status_code, "hello from me" in page.text) == (200, True)
    path = f"/node/containerlogs/{container.name}/alice/syslog/"
    assert f'href="{path}?start=-4096"' in page.text
    assert "first words &lt;b&gt;and&lt;/b&gt; the last" in (await get(yarn, path)).text
    assert "<pre>last\n</pre>" in (await get(yarn, f"{path}?start=-5")).text
    assert "<pre>irst</pre>" in (await get(yarn, f"{path}?start=1&end=5")).text
    monkeypatch.setattr(own_node, "MOST_BYTES", 3)
    assert "<pre>me\n</pre>" in (await get(yarn, f"/node/containerlogs/{container.name}/a")).text


@pytest.mark.parametrize(
    "name", ["nothing", "..", "%2e%2e%2f%2e%2e%2flaunch.json", "a%2fb", "link"]
)
async def test_there_is_no_way_from_a_log_to_another_file(yarn, container, tmp_path, name):
    (tmp_path / "secret").write_text("secret")
    (container.folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(container.folder / "pipe")
    for path in (
        f"/ws/v1/node/containers/{container.name}/logs/{name}",
        f"/node/containerlogs/{container.name}/alice/{name}",
    ):
        answer = await get(yarn, path)
        assert (answer.status_code, "secret" in answer.text) == (404, False)
    answer = await get(yarn, f"/ws/v1/node/containers/{container.name}/logs/pipe")
    assert answer.status_code == 404


async def test_a_folder_of_logs_that_is_a_link_is_none(yarn, container, tmp_path):
    (container.folder / "syslog").unlink()
    container.folder.rmdir()
    (tmp_path / "secret").write_text("secret")
    container.folder.symlink_to(tmp_path)
    listed = (await get(yarn, f"/ws/v1/node/containers/{container.name}/logs")).text
    assert "secret" not in listed
    answer = await get(yarn, f"/ws/v1/node/containers/{container.name}/logs/secret")
    assert answer.status_code == 404


async def test_what_is_not_there_is_answered_as_by_a_nodemanager_of_3_4_1(yarn, container):
    absent = f"container_{yarn.state.epoch_ms}_0009_01_000001"
    answer = await get(yarn, f"/ws/v1/node/containers/{absent}/logs")
    assert answer.status_code == 503
    assert "Unknown container." in answer.json()["RemoteException"]["message"]
    answer = await get(yarn, f"/ws/v1/node/containers/{absent}/logs/stdout")
    assert (answer.status_code, answer.text[:37]) == (404, "java.lang.Exception: Unknown containe")
    answer = await get(yarn, "/ws/v1/node/containers/xyz/logs")
    assert answer.status_code == 400
    message = answer.json()["RemoteException"]["message"]
    assert message == "java.lang.Exception: invalid container id, xyz"
    answer = await get(
        yarn, f"/ws/v1/node/containers/{container.name}/logs/stdout?size=9{'9' * 30}"
    )
    assert answer.status_code == 400


async def test_the_logs_of_an_application_that_is_over_stay(yarn, container):
    await yarn.server.live.service.ask(KillApplication(1))
    assert yarn.state.applications[1].over
    log = await get(yarn, f"/ws/v1/node/containers/{container.name}/logs/stdout")
    assert "hello from me" in log.text
    page = await get(yarn, f"/node/containerlogs/{container.name}/alice/syslog?start=-4096")
    assert "first words" in page.text
