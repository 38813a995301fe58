"""docs/how-to/replace-the-resource-manager.md is run: a real ResourceManager is replaced by ours.

Needs Java and Hadoop's jars; `make hadoop` fetches them, and so does this test where CI is set.
"""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hadoop.cluster import OPENS, Cluster
from tests.hadoop.configuration import JVM
from tests.hadoop.installation import Installation, unavailable

PAGE = Path(__file__).parents[2] / "docs/how-to/replace-the-resource-manager.md"

YARN = """#!/bin/bash
# What Hadoop's own `yarn` does for the commands of the page.
run() {{ exec java -Xmx300m {jvm} -Duser.home={run} -cp "{conf}:{jars}/*" "$@"; }}
cli=org.apache.hadoop.yarn.client.cli
case "$1" in
  node) run $cli.NodeCLI "${{@:2}}" ;;
  queue) run $cli.QueueCLI "${{@:2}}" ;;
  rmadmin) run $cli.RMAdminCLI "${{@:2}}" ;;
  cluster) run $cli.ClusterCLI "${{@:2}}" ;;
  application) run $cli.ApplicationCLI "$@" ;;
  jar) run org.apache.hadoop.examples.ExampleDriver "${{@:3}}" ;;
  --daemon) exec {python} -m tests.hadoop.daemon "$2" {run} "{conf}:{jars}/*" ;;
esac
exit 64
"""


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory):
    why = unavailable()
    if why:
        pytest.skip(why)
    run = tmp_path_factory.mktemp("cluster") / "run"
    labels = {
        "yarn.node-labels.enabled": "true",
        "yarn.node-labels.fs-store.root-dir": f"file://{run}/labels",
    }
    cluster = Cluster(run, Installation(), "capacity", nodes=1, more=labels)
    commands = run / "bin"
    commands.mkdir()
    known = {"jvm": " ".join([*JVM.split(), *OPENS]), "run": run, "conf": cluster.conf}
    known |= {"jars": cluster.installation.jars, "python": sys.executable}
    executable(commands / "yarn", YARN.format(**known))
    executable(commands / "fairshare", f'#!/bin/sh\nexec {sys.executable} -m fairshare "$@"\n')
    executable(commands / "pip", "#!/bin/sh\n# It is installed already.\n")
    yield cluster
    left = cluster.stop()
    assert left == []


EXPECTED = {
    "yarn node -list": r"Total Nodes:1\b[\s\S]*RUNNING",
    "yarn queue -status default": r"State : RUNNING",
    'yarn rmadmin -addToClusterNodeLabels "spot(exclusive=false)"': "",
    "fairshare nodes": r"localhost:\d+",
    "fairshare submit --queue root.default --memory 256m --wait -- sh -c 'echo $FAIRSHARE_NODE'": (
        r"FINISHED: task 1/1"
    ),
    "fairshare apps": r"QuasiMonteCarlo",
    "yarn jar hadoop-mapreduce-examples.jar pi 2 10": r"Estimated value of Pi is 3\.8",
    "yarn application -list -appStates FINISHED": r"QuasiMonteCarlo[\s\S]*SUCCEEDED",
    'fairshare lint "$HADOOP_CONF_DIR"': r"0 errors",
}
"""What each command must print, somewhere."""


def test_every_command_of_the_page_works_on_a_real_cluster(cluster: Cluster) -> None:
    commands = re.findall(r"^    (\S.*)$", PAGE.read_text(), re.MULTILINE)
    assert commands[0].startswith("export HADOOP_CONF_DIR=")
    path = f"{cluster.run}/bin:{os.environ['PATH']}"
    environment = {**cluster.environment, "PATH": path, "PYTHONPATH": str(Path.cwd())}
    environment.pop("FAIRSHARE_URL", None)

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            env=environment,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert run("yarn --daemon start resourcemanager").returncode == 0
    cluster.start_node("node1")
    cluster.wait(lambda: cluster.active_nodes() == 1, "the node is registered")
    for command in commands[1:]:
        done = run(command)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if "serve" in command or "start resourcemanager" in command:
            cluster.wait(lambda: cluster.active_nodes() == 1, f"the node is back after {command}")
        pattern = EXPECTED.get(command, "")
        assert re.search(pattern, done.stdout + done.stderr), (command, done.stdout, done.stderr)
    assert set(EXPECTED) <= set(commands)
