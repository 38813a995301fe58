"""The local engine keeps to what all engines keep to (`tests/engine_contract.py`)."""

import pytest
from tests.engine_contract import CHECKS, OUTAGES, STRICTER, Subject
from tests.ray_cluster.conftest import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("server"), None)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def subject(server, tmp_path):
    return Subject(server.url, "root.one", tmp_path / "notes")


@pytest.mark.parametrize("check", CHECKS + STRICTER, ids=lambda check: check.__name__)
def test_the_local_engine_keeps_to_the_contract(subject, check):
    check(subject)


@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.__name__)
def test_the_local_engine_keeps_to_it_while_no_server_runs(subject, server, outage):
    outage(subject, server)
