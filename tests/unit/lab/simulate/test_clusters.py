"""The nodes of other clusters, as YARN and Slurm describe them."""

import doctest
import json

import pytest

from fairshare.core.model.resources import ResourceTypes
from fairshare.lab.verbs import cluster_source
from fairshare.lab.verbs.cluster_source import ClusterUnreadable, nodes_of

TYPES = ResourceTypes()
WITH_GPUS = ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"), ("Mi", "", ""))
SCONTROL = """NodeName=n1 Arch=x86_64 CoresPerSocket=8
   CPUAlloc=0 CPUEfctv=32 CPUTot=32 CPULoad=0.00
   Gres=gpu:a100:4(S:0-1)
   RealMemory=128000 AllocMem=0 FreeMem=1 Sockets=2 Boards=1
   State=IDLE ThreadsPerCore=2

NodeName=n2 Arch=x86_64
   CPUTot=16
   RealMemory=64000
   State=DOWN*+DRAIN
"""


def yarn(**changes):
    node = {
        "nodeHostName": "host1",
        "rack": "/rack1",
        "state": "RUNNING",
        "usedMemoryMB": 1024,
        "availMemoryMB": 7168,
        "usedVirtualCores": 1,
        "availableVirtualCores": 7,
    } | changes
    return json.dumps({"nodes": {"node": [node]}})


def test_the_nodes_of_yarn_are_those_that_run():
    (node,) = nodes_of(yarn(), TYPES)
    assert (node.node, node.total, node.rack) == ("host1", (8192, 8), "/rack1")
    with pytest.raises(ClusterUnreadable, match="no node in service"):
        nodes_of(yarn(state="LOST"), TYPES)


def test_further_resources_of_yarn_count_if_the_configuration_has_them():
    more = [{"name": "yarn.io/gpu", "value": 2}]
    total = {
        "memory": 4096,
        "vCores": 4,
        "resourceInformations": {"resourceInformation": more},
    }
    assert nodes_of(yarn(totalResource=total), WITH_GPUS)[0].total == (4096, 4, 2)
    assert nodes_of(yarn(totalResource=total), TYPES)[0].total == (4096, 4)


def test_the_nodes_of_slurm_are_those_in_service():
    (node,) = nodes_of(SCONTROL, WITH_GPUS)
    assert (node.node, node.total) == ("n1", (128000, 32, 4))


def test_sinfo_lists_nodes_by_line():
    text = "NODELIST CPUS MEMORY GRES\nn1 32 128000+ gpu:4\nn2 16 64000 (null)\n"
    assert [one.total for one in nodes_of(text, WITH_GPUS)] == [(128000, 32, 4), (64000, 16, 0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no node in service"),
        ("anything else", "no node in service"),
        ("{", "not YARN's list of nodes"),
        ('{"nodes": 3}', "not YARN's list of nodes"),
        (yarn(usedMemoryMB="much"), "not YARN's list of nodes"),
        (yarn(usedMemoryMB=-9000), "not an amount of memory-mb"),
        ("NodeName=n1 CPUTot=many RealMemory=1", "node n1 has no whole numbers"),
    ],
)
def test_what_describes_no_cluster_is_refused(text, words):
    with pytest.raises(ClusterUnreadable, match=words):
        nodes_of(text, TYPES)


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(cluster_source).failed == 0
