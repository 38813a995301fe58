"""Queues of a real Capacity Scheduler change from the command line while something runs in them."""

import os
from pathlib import Path

import pytest
from tests.forked import fairshare
from tests.served import SMALL_MACHINE, Served

P = "yarn.scheduler.capacity."
SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler</value>
</property>
<property><name>yarn.scheduler.minimum-allocation-mb</name><value>64</value></property>
{store}</configuration>
"""
STORE = """<property><name>yarn.scheduler.configuration.store.class</name>
<value>leveldb</value></property>
"""


class Place(Served):
    """A server of the Capacity Scheduler, and commands for it."""

    def __init__(self, path: Path, store: str = "") -> None:
        self.conf = path / "conf"
        self.conf.mkdir()
        (self.conf / "yarn-site.xml").write_text(SITE.format(store=store))
        self.capacity(a=60, b=40)
        super().__init__(self.conf, *SMALL_MACHINE)

    def capacity(self, **percents: int) -> None:
        values = {f"{P}root.queues": ",".join(percents)}
        values |= {f"{P}root.{name}.capacity": str(one) for name, one in percents.items()}
        rows = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>\n"
            for name, value in values.items()
        )
        (self.conf / "capacity-scheduler.xml").write_text(
            f"<configuration>\n{rows}</configuration>"
        )

    def __call__(self, *words: str) -> tuple[int, str]:
        """A command's exit code, and what it prints."""
        done = fairshare(*words, env={**os.environ, "FAIRSHARE_STATE": str(self.state)})
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest):
    made = Place(tmp_path, getattr(request, "param", ""))
    yield made
    made.end()


def test_a_refresh_takes_the_file_over_or_refuses_it_whole(place: Place) -> None:
    code, reported = place(
        "submit", "--queue", "b", "--memory", "64", "--no-wait", "--", "sleep", "60"
    )
    assert code == 0, reported
    place.capacity(a=100)
    code, reported = place("admin", "refresh-queues")
    assert code == 1
    assert (
        "root.b is deleted from the new capacity scheduler configuration, but the queue" in reported
    )
    assert "root.b" in place("queues", "--json")[1]
    place.capacity(a=50, b=30, c=20)
    assert place("admin", "refresh-queues") == (0, "the configuration was read again\n")
    assert "root.c" in place("queues", "--json")[1]
    code, reported = place("admin", "config", "show")
    assert (code, "MutableConfScheduler" in reported) == (1, True)


@pytest.mark.parametrize("place", [STORE], indirect=True)
def test_changes_by_document_outlive_the_server(place: Place) -> None:
    add = ("admin", "config", "add-queue", "root.lab", "capacity=10", "--set")
    code, reported = place(*add, "root.b:capacity=20")
    assert code == 1
    assert (
        "Failed to re-init queues : Illegal capacity sum of 0.9 for children of queue root"
        in reported
    )
    code, reported = place(*add, "root.b:capacity=30")
    assert (code, reported) == (0, "the configuration was changed: version 2\n")
    place.end()
    place.start()
    assert "root.lab" in place("queues", "--json")[1]
    assert place("admin", "config", "show", "lab") == (0, f"{P}root.lab.capacity=10\n")
