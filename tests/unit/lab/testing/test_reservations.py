"""One machine with GPUs: a task that waits for one does not stop everybody else."""

from pathlib import Path
from typing import Any

import pytest

from fairshare.lab.testing.cluster import FairshareCluster

SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.{0}</value></property>
<property><name>yarn.resource-types</name><value>yarn.io/gpu</value></property>
{1}</configuration>"""
FAIR = """<allocations><queue name="vision"/><queue name="genomics"/></allocations>"""
RESERVABLE = """<property><name>yarn.scheduler.fair.reservable-nodes</name>
<value>1.0</value></property>"""
CAPACITY = """<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>vision,genomics</value></property>
<property><name>yarn.scheduler.capacity.root.vision.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.root.genomics.capacity</name><value>50</value></property>
<property><name>yarn.scheduler.capacity.user-limit-factor</name><value>4</value></property>
<property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>1</value></property>
<property><name>yarn.scheduler.capacity.resource-calculator</name>
<value>org.apache.hadoop.yarn.util.resource.DominantResourceCalculator</value></property>
</configuration>"""
NODE = {"memory_mb": 8192, "vcores": 16, "yarn.io/gpu": 2}


def lab(directory: Path, scheduler: str, toml: str = "", site: str = "") -> FairshareCluster:
    """A machine of which genomics uses half."""
    kind = "fair.FairScheduler" if scheduler == "fair" else "capacity.CapacityScheduler"
    (directory / "yarn-site.xml").write_text(SITE.format(kind, site))
    (directory / "fair-scheduler.xml").write_text(FAIR)
    (directory / "capacity-scheduler.xml").write_text(CAPACITY)
    (directory / "fairshare.toml").write_text(toml)
    return FairshareCluster(directory, nodes={"n1": NODE})


def late_containers(cluster: FairshareCluster, **scarce: Any) -> tuple[int, str]:
    """How many of genomics' later containers start while vision waits, and why they wait."""
    cluster.submit("genomics", tasks=4, vcores=1)
    cluster.submit("vision", tasks=3, **scarce)
    cluster.advance(1)
    cluster.submit("genomics", tasks=1, memory_mb=512, duration_s=1)
    cluster.advance(5)
    late = cluster.submit("genomics", tasks=2, memory_mb=512)
    cluster.advance(5)
    return cluster.application(late).containers, " ".join(cluster.why(late))


GPU = {"memory_mb": 2048, "resources": {"yarn.io/gpu": 2}}
MEMORY = {"memory_mb": 6144}
ON = '[engine]\nreservations = "on"\n'
OFF = '[engine]\nreservations = "off"\n'
WAITS = "1 node has room, and is kept free for application_1000000000000_"
TURN = "Others are served first. 2 others come before it, first application_1000000000000_0003."
"""Under the Capacity Scheduler: a reservation takes the room from all that come behind it."""


@pytest.mark.parametrize(
    ("scheduler", "scarce", "why"),
    [("fair", GPU, WAITS), ("fair", MEMORY, WAITS), ("capacity", MEMORY, TURN)],
)
def test_on_one_node_nothing_is_reserved_unless_that_is_switched_on(
    tmp_path, scheduler, scarce, why
):
    containers, reason = late_containers(lab(tmp_path, scheduler, ON), **scarce)
    assert (containers, reason.startswith(why)) == (0, True)
    assert late_containers(lab(tmp_path, scheduler), **scarce) == (2, "")


def test_a_file_that_names_hadoops_property_is_followed(tmp_path):
    containers, reason = late_containers(lab(tmp_path, "fair", site=RESERVABLE), **GPU)
    assert (containers, reason.startswith(WAITS)) == (0, True)
    assert late_containers(lab(tmp_path, "fair", OFF, RESERVABLE), **GPU) == (2, "")
