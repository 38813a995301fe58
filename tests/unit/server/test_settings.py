"""What a server is told: the configuration directory, and what stands before it."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.engines.local.disk_usage import DiskLimits
from fairshare.engines.local.limits import Interactive
from fairshare.server import engines
from fairshare.server import settings as settings_module
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.users.groups import own_user
from fairshare.server.web.listener import open_root

SCHEDULERS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler"


def directory_of(tmp_path: Path, scheduler: str, **properties: str) -> Path:
    properties["yarn.resourcemanager.scheduler.class"] = f"{SCHEDULERS}.{scheduler}"
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
    (tmp_path / "fair-scheduler.xml").write_text('<allocations><queue name="a"/></allocations>')
    return tmp_path


def test_without_overrides_the_configuration_counts(tmp_path):
    directory = directory_of(tmp_path, "fair.FairScheduler")
    (directory / "fairshare.toml").write_text(
        '[server]\nport = 8123\nstate_directory = "state"\n'
        "[engine]\nnodes = 3\nmemory_mb = 2048\nvcores = 2\n"
    )
    settings = read_settings(directory, Overrides())
    assert (settings.scheduler, settings.host, settings.port) == ("fair", "127.0.0.1", 8123)
    assert settings.state_directory == directory / "state"
    assert (settings.nodes, settings.memory_mb, settings.vcores) == (3, 2048, 2)
    assert not settings.stop_containers
    fair = msgspec.json.decode(settings.scheduler_settings, type=FairSettings)
    assert list(fair.allocations.queues) == ["root.a"]


def test_the_state_is_in_the_home_of_the_account_unless_a_place_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    directory = directory_of(tmp_path, "fair.FairScheduler")
    below_home = tmp_path / "home" / ".local" / "state" / "fairshare"
    assert read_settings(directory, Overrides()).state_directory == below_home


def test_every_override_takes_precedence_over_the_configuration(tmp_path):
    overrides = Overrides(
        host="localhost",
        port=0,
        state_directory=tmp_path / "elsewhere",
        nodes=2,
        memory_mb=512,
        vcores=1,
        stop_containers=True,
    )
    settings = read_settings(directory_of(tmp_path, "fair.FairScheduler"), overrides)
    assert (settings.host, settings.port) == ("localhost", 0)
    assert settings.state_directory == tmp_path / "elsewhere"
    assert (settings.nodes, settings.memory_mb, settings.vcores) == (2, 512, 1)
    assert settings.stop_containers


def test_fifo_can_take_the_place_of_the_fair_scheduler(tmp_path):
    directory = directory_of(
        tmp_path, "fair.FairScheduler", **{"yarn.scheduler.minimum-allocation-mb": "256"}
    )
    settings = read_settings(directory, Overrides(scheduler="fifo"))
    assert settings.scheduler == "fifo"
    fifo = msgspec.json.decode(settings.scheduler_settings, type=FifoSettings)
    assert fifo.minimum_allocation == (256, 1)
    assert len(set(settings.warnings)) == len(settings.warnings)


def test_the_fair_scheduler_can_take_the_place_of_fifo_with_its_own_file(tmp_path):
    directory = directory_of(tmp_path, "fifo.FifoScheduler")
    settings = read_settings(directory, Overrides(scheduler="fair"))
    assert settings.scheduler == "fair"
    fair = msgspec.json.decode(settings.scheduler_settings, type=FairSettings)
    assert list(fair.allocations.queues) == ["root.a"]


def test_the_engine_gets_the_configured_nodes(tmp_path, monkeypatch):
    directory = directory_of(
        tmp_path / "conf",
        "fair.FairScheduler",
        **{
            "yarn.resource-types": "yarn.io/gpu,fpga",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage": "true",
            "yarn.nodemanager.sleep-delay-before-sigkill.ms": "700",
        },
    )
    (directory / "fairshare.toml").write_text(
        "[engine]\nnodes = 2\nmemory_mb = 512\nvcores = 1\nlog_limit_mb = 9\n"
        "application_disk_mb = 50\nuser_disk_mb = 60\nprocess_limit = 70\nimage_program = 'none'\n"
        "no_new_privileges = true\nown_processors = false\nprivate_tmp = true\n"
        'gpu_busy_mb = 40\ngpu_idle_end_s = 8\ngpu_idle_end_by_queue_s = {"root.b" = 9}\n'
        "interactive_idle_s = 30\ninteractive_detached_s = 5\n"
        'interactive_idle_by_queue_s = {"root.a" = 7}\n'
        '[engine.resources]\n"yarn.io/gpu" = 3\n'
    )
    reported = {}
    monkeypatch.setattr(engines, "LocalEngine", lambda path, **options: reported.update(options))
    engines.local_engine(read_settings(directory, Overrides()), tmp_path)
    none = "image: this server runs no images (image_program in [engine])"
    assert reported.pop("images").problem == none
    assert reported == {
        "nodes": 2,
        "memory_mb": 1024,
        "vcores": 2,
        "resources": {"yarn.io/gpu": 6, "fpga": 0},
        "memory_check": False,
        "strict_cpu": True,
        "grace_ms": 700,
        "log_limit_mb": 9,
        "vcores_per_core": 1.0,
        "partition": "",
        "run_as": "server",
        "disk_limits": DiskLimits(50, 60, 50_000, 200_000),
        "process_limit": 70,
        "no_new_privileges": True,
        "own_processors": False,
        "private_tmp": True,
        "gpu_busy_mb": 40,
        "gpu_idle": Interactive(8_000, idle_of_queues_ms={"root.b": 9_000}),
        "interactive": (30_000, 5_000, {"root.a": 7_000}),
    }


@pytest.mark.parametrize("scheduler", ["fair", "fifo", "pools"])
def test_the_user_of_the_server_is_an_administrator_under_any_scheduler(tmp_path, scheduler):
    acls = {"yarn.acl.enable": "true", "yarn.admin.acl": "root"}
    directory = directory_of(tmp_path, "fair.FairScheduler", **acls)
    settings = read_settings(directory, Overrides(scheduler=scheduler))
    found = json.loads(settings.scheduler_settings)
    assert found["acl_enabled"] is True
    assert found["administrators"] == f"{own_user()},root"


@pytest.mark.parametrize(("nodes", "reported"), [(1, []), (2, ["more-memory-than-the-machine"])])
def test_nodes_that_offer_more_memory_than_the_machine_has_are_a_trap(
    tmp_path, monkeypatch, nodes, reported
):
    monkeypatch.setattr(settings_module, "physical_memory_mb", lambda: 16_000)
    directory = directory_of(tmp_path, "fair.FairScheduler")
    given = read_settings(directory, Overrides(nodes=nodes, memory_mb=9_000))
    traps = [one for one in given.warnings if one.severity == "trap"]
    assert [one.rule for one in traps] == reported
    for one in traps:
        assert one.file == "--memory-mb"
        assert "18000 MB, and this machine has 16000 MB" in one.message
        assert "8000 MB for each is the most" in one.message
    (directory / "fairshare.toml").write_text(
        f"[engine]\nnodes = {nodes}\nmemory_mb = 9000\nvcores = 1\n"
    )
    written = read_settings(directory, Overrides())
    files = [Path(one.file).name for one in written.warnings if one.severity == "trap"]
    assert files == ["fairshare.toml" for _ in reported]


@pytest.mark.parametrize(("engine", "reserves"), [("local", False), ("nodemanagers", True)])
def test_only_one_node_of_this_machine_is_never_kept_free(tmp_path, engine, reserves):
    """Nodes that register by themselves are a cluster, whatever [engine] says of this machine."""
    directory = directory_of(tmp_path, "fair.FairScheduler")
    (directory / "fairshare.toml").write_text(f'[engine]\nkind = "{engine}"\n')
    fair = msgspec.json.decode(
        read_settings(directory, Overrides()).scheduler_settings, type=FairSettings
    )
    assert (fair.reservable_nodes > 0) == reserves


def test_an_interpreter_that_users_cannot_execute_is_a_warning_where_containers_are_theirs(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(settings_module, "closed_program", lambda: "/root is closed")
    directory = directory_of(tmp_path, "fair.FairScheduler")
    toml = '[engine]\nrun_as = "{}"\n[server]\nsocket = "/tmp/s"\n[authentication]\nsocket = true\n'
    reported = {}
    for account in ("server", "user"):
        (directory / "fairshare.toml").write_text(toml.format(account))
        problems = read_settings(directory, Overrides()).warnings
        reported[account] = [str(p.message) for p in problems if p.rule == "closed-interpreter"]
    assert reported == {"server": [], "user": ["/root is closed"]}


@pytest.mark.parametrize(
    ("account", "toml", "opens"),
    [
        (0, "", True),
        (1000, "", False),
        (
            0,
            '[engine]\nrun_as = "user"\n[server]\nsocket = "/run/s"\n'
            "[authentication]\nsocket = true\n",
            False,
        ),
        (0, "[authentication]\ntokens = true\n", False),
    ],
    ids=["root", "another-account", "as-users", "tokens"],
)
def test_a_server_of_root_that_believes_its_callers_opens_root_to_every_account(
    tmp_path, monkeypatch, account, toml, opens
):
    monkeypatch.setattr(os, "geteuid", lambda: account)
    (tmp_path / "yarn-site.xml").write_text("<configuration/>")
    (tmp_path / "fairshare.toml").write_text(toml)
    problem = open_root(read_settings(tmp_path, Overrides()))
    assert ("every account of this machine could run commands as root" in problem) == opens
