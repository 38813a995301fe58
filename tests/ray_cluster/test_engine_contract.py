"""The engine of Ray keeps to what all engines keep to (`tests/engine_contract.py`)."""

import tempfile
from pathlib import Path

import pytest
from tests.engine_contract import CHECKS, OUTAGES, STRICTER, Subject
from tests.ray_cluster.conftest import Cluster, Server, wait


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One cluster and one server for all checks."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), 2)
        try:
            server = Server(tmp_path_factory.mktemp("server"), cluster)
            server.start()
            wait(lambda: len(server.nodes()) == 2, "two nodes")
            yield server
            server.stop()
        finally:
            cluster.stop()


@pytest.fixture
def subject(served, tmp_path):
    return Subject(served.url, "root.one", tmp_path / "notes")


@pytest.mark.parametrize("check", CHECKS + STRICTER, ids=lambda check: check.__name__)
def test_the_engine_of_ray_keeps_to_the_contract(subject, check):
    check(subject)


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.__name__)
def test_the_engine_of_ray_keeps_to_it_while_no_server_runs(subject, served, outage):
    outage(subject, served)
