"""What the doctor finds on a machine, and what it advises."""

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from fairshare.cli import doctor
from fairshare.cli.systemd_unit import unit_text

SITE = """<configuration><property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value>
</property></configuration>"""


@pytest.fixture
def conf(tmp_path):
    """Writes a configuration with a text for fairshare.toml; its server's port is free."""

    def write(text: str = "", allocations: str = "<allocations/>") -> Path:
        folder = tmp_path / "conf"
        folder.mkdir(exist_ok=True)
        (folder / "yarn-site.xml").write_text(SITE)
        (folder / "fair-scheduler.xml").write_text(allocations)
        state = f'state_directory = "{tmp_path / "state"}"\n'
        toml = text if "[server]" in text else f"[server]\n{state}port = 0\n{text}"
        (folder / "fairshare.toml").write_text(toml)
        return folder

    return write


@pytest.fixture
def examined(run):
    """The findings by check, the worst of each, of a machine without a server."""

    def call(folder: Path, *words: str) -> dict[str, dict[str, str]]:
        result = run("doctor", "--conf", str(folder), "--json", *words)
        answer = json.loads(result.stdout)
        assert result.exit_code == (1 if answer["errors"] else 0)
        order = ("ok", "warning", "error")
        findings = sorted(answer["findings"], key=lambda one: order.index(one["state"]))
        return {one["check"]: one for one in findings}

    return call


def test_a_server_that_is_well_and_its_nodes_are_named(run, cluster, conf):
    result = run("doctor", "--conf", str(conf()))
    assert "2 nodes" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(("0 errors", "1 error"))


def test_the_server_of_the_configuration_is_examined_before_the_one_that_clients_find(
    run, cluster, conf, tmp_path
):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "url").write_text("http://127.0.0.1:5099\n")
    folder = str(conf())
    assert "http://127.0.0.1:5099, " in run("doctor", "--conf", folder).stdout
    named = run("doctor", "--conf", folder, "--url", "http://127.0.0.1:5098").stdout
    assert "http://127.0.0.1:5098, " in named


def test_a_node_without_control_groups_gets_advice(examined, cluster, conf):
    node = cluster.answers["/nodes"]["nodes"][0]
    node["attributes"] = {"memory-limit": "watch", "process-limit": "off", "limits-note": "no"}
    node["state"] = "DRAINED"
    found = examined(conf())
    assert "memory-limit watch, process-limit off: no" in found["control groups"]["message"]
    assert "Delegate=yes" in found["control groups"]["remedy"]
    assert "admin undrain" in found["nodes"]["remedy"]


def test_a_machine_without_a_configuration_and_one_with_a_wrong_one(examined, conf, tmp_path):
    assert "fairshare init" in examined(tmp_path / "none")["configuration"]["remedy"]
    found = examined(conf(allocations="<allocations><queue/></allocations>"))
    assert found["configuration"]["state"] == "error"
    assert "fair-scheduler.xml:1" in found["configuration"]["message"]
    assert found["configuration"]["remedy"].startswith("fairshare lint ")


def test_a_port_in_use_is_an_error_where_no_server_answers(run, cluster, conf, monkeypatch):
    import httpx

    cluster.answers["/cluster"] = httpx.ConnectError("no")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("doctor", "--conf", str(conf(f"[server]\nport = {port}\n")))
    assert result.exit_code == 1
    assert f"port {port} of 127.0.0.1 is in use" in result.stdout
    assert "choose another port" in result.stdout


def test_a_full_disk_and_a_disk_with_few_inodes_are_errors(examined, conf, monkeypatch):
    folder = conf("[limits]\nfree_mb = 1099511627776\n")
    assert examined(folder)["disk"]["state"] == "error"
    monkeypatch.setattr(doctor, "inodes_of", lambda place: (3, 1_000))
    found = examined(conf())["disk"]
    assert (found["state"], "3 inodes" in found["message"]) == ("error", True)


def test_a_socket_that_others_cannot_reach_is_a_warning(examined, conf, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    path = folder / "socket"
    with socket.socket(socket.AF_UNIX) as local:
        local.bind(str(path))
        toml = f'[server]\nsocket = "{path}"\nport = 0\n[authentication]\nsocket = true\n'
        toml += "account_tokens = 0\n"
        folder.chmod(0o700)
        found = examined(conf(toml))
        assert f"{folder} is closed to other accounts" in found["socket"]["message"]
        assert "tokens = true" in found["browser"]["remedy"]
        folder.chmod(0o755)
        assert stat.S_ISSOCK(path.stat().st_mode)
    path.unlink()
    assert examined(conf(toml))["socket"]["state"] == "error", "a server runs, without its socket"


def test_gpus_that_are_not_there_are_an_error(examined, conf):
    found = examined(conf("[engine]\ngpus = 4\n"))["GPUs"]
    assert (found["state"], "gpus = 4" in found["message"]) == ("error", True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's containers have other accounts")
def test_a_server_for_users_needs_access_lists(examined, conf, tmp_path):
    toml = (
        f'[server]\nsocket = "{tmp_path}/s"\nport = 0\n[authentication]\nsocket = true\n'
        '[engine]\nrun_as = "user"\n'
    )
    found = examined(conf(toml))["access lists"]
    assert (found["state"], "yarn.acl.enable" in found["message"]) == ("warning", True)


def test_clocks_that_are_apart_are_a_warning(examined, cluster, conf):
    cluster.answers["/cluster"]["now_ms"] = 1_700_000_000_000
    assert "s apart" in examined(conf())["time"]["message"]


def test_the_unit_takes_strange_names():
    own = unit_text(Path("/home/ann lee/100%/fairshare"), Path("/etc/fairshare"), of_root=False)
    assert 'ExecStart="/home/ann lee/100%%/fairshare" serve --conf /etc/fairshare\n' in own


def test_init_prints_a_unit_and_writes_nothing(run, tmp_path):
    result = run("init", "--systemd", str(tmp_path / "conf"))
    assert f"serve --conf {tmp_path}/conf\n" in result.stdout
    assert not (tmp_path / "conf").exists()


def test_a_server_that_would_give_root_to_every_account_is_an_error(examined, conf, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = examined(conf())["accounts"]
    assert found["state"] == "error"
    assert "every account of this machine could run commands as root" in found["message"]
    assert "--trust-local-users" in found["remedy"]
    monkeypatch.setattr(os, "geteuid", lambda: 1)
    assert examined(conf())["accounts"]["state"] == "ok"


def test_whether_containers_have_processors_and_places_of_their_own_is_said(examined, conf):
    count = len(os.sched_getaffinity(0))
    assert "each container has as many of the" in examined(conf())["processors"]["message"]
    shared = f"[engine]\nvcores = {count + 1}\nprivate_tmp = true\n"
    server = '[server]\nstate_directory = "/tmp/fairshare-doctor"\nport = 0\n'
    found = examined(conf(server + shared))
    assert f"containers share the {count}" in found["processors"]["message"]
    assert "is in /tmp, which it would hide" in found["private /tmp"]["message"]
    folder = conf()
    halved = "<name>yarn.nodemanager.resource.pcores-vcores-multiplier</name><value>0.5</value>"
    site = SITE.replace("</configuration>", f"<property>{halved}</property></configuration>")
    (folder / "yarn-site.xml").write_text(site)
    message = examined(folder)["processors"]["message"]
    assert message.startswith(f"containers share the {count}")
