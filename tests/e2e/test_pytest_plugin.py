"""The pytest plugin, in projects of its own: each test here runs pytest in another process."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.unit.lab.testing.test_cluster import FAIR, SITE

SCENARIO = """\
scenario: 1
name: one queue has it all
scheduler: fair
config:
  fair-scheduler.xml: |
    <allocations><queue name="a"/></allocations>
nodes: [{name: n1, resources: {memory-mb: 8192, vcores: 8}}]
steps:
  - expect: {queues: {root.a: {fair_share: {memory-mb: %d}}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE.format("fair.FairScheduler"))
    (conf / "fair-scheduler.xml").write_text(FAIR)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return tmp_path


KNOWN = any(one.value == "fairshare.lab.testing.plugin" for one in entry_points(group="pytest11"))
ALONE = (
    "--disable-plugin-autoload",
    "-p",
    "fairshare" if KNOWN else "fairshare.lab.testing.plugin",
)
"""Without the plugins of other packages, whose start takes most of the time."""


def run(project: Path, *words: str, plugins: tuple[str, ...] = ALONE) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", *plugins, "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_the_fixture_starts_clusters_and_failures_point_to_the_test(project):
    (project / "test_shares.py").write_text(
        """
def test_good(fairshare_cluster):
    cluster = fairshare_cluster("conf", nodes=2, node_memory_mb=4096)
    cluster.submit("root.ml", tasks=20)
    cluster.assert_share("root.ml", memory_mb=8192)

def test_bad(fairshare_cluster):
    cluster = fairshare_cluster("conf")
    cluster.assert_share("root.ml", memory_mb=1)
"""
    )
    code, output = run(project, plugins=() if KNOWN else ("-p", "fairshare.lab.testing.plugin"))
    assert code == 1
    assert "1 failed, 1 passed" in output
    assert "test_shares.py:9: AssertionError" in output
    assert "memory-mb: expected 1, found" in output
    assert "src/fairshare" not in output


def test_scenario_files_are_tests_by_their_name_or_their_directory(project):
    (project / "checks").mkdir()
    (project / "checks" / "good.yaml").write_text(SCENARIO % 0)
    (project / "checks" / "other.yaml").write_text("a: 1\n")
    (project / "bad.scenario.yaml").write_text(SCENARIO % 5)
    code, output = run(project, "-v")
    assert code == 1
    assert "bad.scenario.yaml::scenario FAILED" in output
    assert "good.yaml" not in output
    assert "bad.scenario.yaml:9 step 0 queues.root.a.fair_share" in output
    code, output = run(project, "-v", "--fairshare-scenarios", "checks", "checks")
    assert code == 0, output
    assert "checks/good.yaml::scenario PASSED" in output
    assert "checks/other.yaml::scenario SKIPPED" in output


def test_a_directory_of_scenarios_elsewhere_is_run_besides_the_tests(project):
    inner = project / "inner"
    inner.mkdir()
    (project / "elsewhere").mkdir()
    (inner / "test_it.py").write_text("def test_it():\n    pass\n")
    (project / "elsewhere" / "good.yaml").write_text(SCENARIO % 0)
    code, output = run(project, "inner", "--fairshare-scenarios", "elsewhere")
    assert (code, "2 passed" in output) == (0, True), output
    code, output = run(project, "inner", "--fairshare-scenarios", "nowhere")
    assert code == 4
    assert "--fairshare-scenarios nowhere: there is no such directory" in output


def test_a_file_that_is_called_a_scenario_and_is_none_fails(project):
    (project / "x.scenario.yaml").write_text("a: 1\n")
    code, output = run(project)
    assert code == 1
    assert "not a scenario" in output


def test_it_works_with_xdist(project):
    (project / "good.scenario.yaml").write_text(SCENARIO % 0)
    (project / "checks").mkdir()
    (project / "checks" / "good.yaml").write_text(SCENARIO % 0)
    code, output = run(project, "-p", "xdist", "-n", "2", "--fairshare-scenarios", "checks")
    assert (code, "2 passed" in output) == (0, True), output


def test_the_unused_plugin_imports_no_further_modules(project):
    (project / "test_nothing.py").write_text(
        """
import sys

def test_nothing():
    loaded = {name for name in sys.modules if name.startswith("fairshare.")}
    assert loaded <= {"fairshare.lab", "fairshare.lab.testing", "fairshare.lab.testing.plugin"}
    assert not {"msgspec", "yaml", "httpx", "click"} & set(sys.modules)
"""
    )
    code, output = run(project)
    assert code == 0, output
