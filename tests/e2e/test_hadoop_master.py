"""Applications of Hadoop's kind without Java: a client and a master in Python, on this machine."""

import asyncio
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from .test_server import ALLOCATIONS, YARN_SITE, Server

if not (find_spec("google") and find_spec("google.protobuf")):
    pytest.skip("needs the extra fairshare[hadoop]", allow_module_level=True)

from tests.hadoop.configuration import free_ports

from fairshare.yarn.rpc.wire import descriptors
from fairshare.yarn.rpc.wire.client import RpcClient
from fairshare.yarn.rpc.wire.messages import (
    ApplicationIdProto,
    ApplicationSubmissionContextProto,
    GetApplicationReportRequestProto,
    GetNewApplicationRequestProto,
    LocalResourceProto,
    SubmitApplicationRequestProto,
)

PARTS = ("", "scheduler.", "admin.", "resource-tracker.")
MASTER = Path(__file__).with_name("hadoop_master.py")
LIBRARY = Path(__file__).parents[2] / "src"


class Cluster:
    """A server with fixed ports, so that masters find the next one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.web, *self.ports = free_ports(1 + len(PARTS))
        self.conf = path / "conf"
        self.conf.mkdir()
        addresses = "".join(
            f"<property><name>yarn.resourcemanager.{part}address</name>"
            f"<value>127.0.0.1:{port}</value></property>"
            for part, port in zip(PARTS, self.ports, strict=True)
        )
        site = YARN_SITE.replace("</configuration>", f"{addresses}</configuration>")
        (self.conf / "yarn-site.xml").write_text(site)
        (self.conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
        self.start()

    def start(self) -> None:
        self.server = Server(self.conf, self.path / "state", "--port", str(self.web), "--hadoop")

    def call(self, method: str, request: object):
        async def body():
            client = RpcClient("ann")
            try:
                address = ("127.0.0.1", self.ports[0])
                protocol = descriptors.APPLICATION_CLIENT
                return await client.call(address, protocol, method, request)
            finally:
                await client.close()

        return asyncio.run(body())

    def submit(self, line: str, count: int = 2) -> str:
        """An application whose master runs a line in each of its containers; its name."""
        return self.submit_command(
            f"exec {sys.executable} master.py {self.ports[1]} {count} {shlex.quote(line)}"
            " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"
        )

    def submit_command(self, command: str) -> str:
        """An application whose master is this command."""
        new = self.call("getNewApplication", GetNewApplicationRequestProto())
        context = ApplicationSubmissionContextProto(
            application_id=new.application_id, application_name="python", queue="a"
        )
        context.am_container_spec.command.append(command)
        context.am_container_spec.environment.add(key="PYTHONPATH", value=str(LIBRARY))
        found = MASTER.stat()
        resource = LocalResourceProto(
            size=found.st_size, timestamp=found.st_mtime_ns // 1_000_000, type=2, visibility=3
        )
        resource.resource.scheme, resource.resource.file = "file", str(MASTER)
        context.am_container_spec.localResources.add(key="master.py", value=resource)
        context.resource.memory, context.resource.virtual_cores = 128, 1
        request = SubmitApplicationRequestProto(application_submission_context=context)
        self.call("submitApplication", request)
        identifier: ApplicationIdProto = new.application_id
        return f"application_{identifier.cluster_timestamp}_{identifier.id:04d}"

    def report(self, name: str):
        _, timestamp, number = name.split("_")
        request = GetApplicationReportRequestProto()
        request.application_id.id = int(number)
        request.application_id.cluster_timestamp = int(timestamp)
        return self.call("getApplicationReport", request).application_report

    def finished(self, name: str):
        self.server.finished(name)
        return self.report(name)

    def master_log(self, name: str) -> str:
        return self.server.log(name.replace("application", "container") + "_01_000001")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    code, stderr = made.server.end()
    assert code == 0, stderr


def test_a_master_runs_containers_on_this_machine_and_finishes(cluster):
    name = cluster.submit(r"echo \$CONTAINER_ID; exit 3")
    report = cluster.finished(name)
    assert cluster.master_log(name) == "codes [3, 3]\n"
    assert (report.yarn_application_state, report.final_application_status) == (6, 1)
    assert report.host == "here"
    tasks = [one for one in cluster.server.containers(name) if not one["master"]]
    assert [cluster.server.log(one["id"]) for one in tasks] == [f"{one['id']}\n" for one in tasks]


def test_a_master_that_ends_without_finishing_has_failed_and_is_started_again(cluster):
    name = cluster.submit_command("exit 0")
    report = cluster.finished(name)
    assert (report.yarn_application_state, report.final_application_status) == (7, 2)
    assert report.currentApplicationAttemptId.attemptId == 2


def test_a_server_that_is_killed_keeps_masters_and_their_containers(cluster, tmp_path):
    go = tmp_path / "go"
    name = cluster.submit(f"until [ -e {go} ]; do sleep 0.05; done; exit 5", count=3)
    server = cluster.server

    def running():
        return [one for one in server.containers(name) if one["state"] == "RUNNING"]

    server.until(lambda: len(running()) == 4)
    before = {one["id"] for one in running()}
    server.process.kill()
    server.wait()
    cluster.start()
    server = cluster.server
    assert {one["id"] for one in running()} == before
    go.touch()
    report = cluster.finished(name)
    assert report.final_application_status == 1
    assert report.currentApplicationAttemptId.attemptId == 1
    assert cluster.master_log(name) == "codes [5, 5, 5]\n"
