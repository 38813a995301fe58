"""docs/python.md is run: its tests pass, and it names every method that there is."""

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from fairshare.client import Client
from fairshare.lab.testing.cluster import FairshareCluster

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>yarn.scheduler.fair.preemption</name><value>true</value></property>
</configuration>"""


def block(language: str) -> str:
    """The one piece of code of a kind on the page."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert isinstance(text, str)
    return text


def test_the_tests_of_the_page_pass(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "yarn-site.xml").write_text(SITE)
    (tmp_path / "conf" / "fair-scheduler.xml").write_text(block("xml"))
    (tmp_path / "test_shares.py").write_text(block("python test"))
    known = any(
        one.value == "fairshare.lab.testing.plugin" for one in entry_points(group="pytest11")
    )
    loaded = () if known else ("-p", "fairshare.lab.testing.plugin")
    command = [sys.executable, "-W", "error", "-m", "pytest", *loaded, "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_every_method_is_named():
    for kind in (Client, FairshareCluster):
        for name in vars(kind):
            known = name.startswith("_") or name in ("close", "connection", "url")
            assert known or re.search(rf"`{name}\b", PAGE), f"{kind.__name__}.{name}"
