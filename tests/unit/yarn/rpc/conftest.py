"""These tests need protobuf, which the extra `hadoop` brings; without it they are left out."""

from importlib.util import find_spec

import pytest

WITHOUT_PROTOBUF = find_spec("google") is None or find_spec("google.protobuf") is None

if WITHOUT_PROTOBUF:
    collect_ignore_glob = ["*"]


def pytest_report_collectionfinish() -> str:
    """Say once what is left out."""
    if WITHOUT_PROTOBUF:
        return "tests of fairshare.yarn.rpc left out: they need the extra fairshare[hadoop]"
    return ""


@pytest.fixture
async def cluster(tmp_path, anyio_backend):
    """A server with Hadoop's ports, which has started."""
    from tests.unit.yarn.rpc.cluster import Cluster

    made = await Cluster(tmp_path).start()
    yield made
    await made.stop()


@pytest.fixture
async def node(cluster):
    """A node that has registered, with room for several containers."""
    made = cluster.node(memory_mb=8192, vcores=16)
    made.register()
    await cluster.settled()
    return made


@pytest.fixture
async def master(cluster, node):
    """A master of ann's on that node that has registered."""
    return await cluster.master(node)
