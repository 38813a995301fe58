"""The pools file of MapReduce's Fair Scheduler, edited while a server runs."""

from pathlib import Path

import pytest
from tests.waiting import until

from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings

pytestmark = pytest.mark.anyio

SITE = """<configuration><property><name>mapred.jobtracker.taskScheduler</name>
<value>org.apache.hadoop.mapred.FairScheduler</value></property></configuration>"""
POOL = "<allocations><pool name='a'><minMaps>{}</minMaps></pool></allocations>"


@pytest.fixture
async def server(tmp_path: Path, engine):
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "mapred-site.xml").write_text(SITE)
    (conf / "fair-scheduler.xml").write_text(POOL.format(1))
    (conf / "fairshare.toml").write_text("[configuration]\ncheck_interval_ms = 20\nsettle_ms = 0\n")
    settings = read_settings(conf, Overrides(port=0, state_directory=tmp_path / "state"))
    made = LiveServer(settings, lambda settings, path: engine)
    await made.start("http://127.0.0.1:1")
    yield made
    await made.close()


def minimum_of(server: LiveServer) -> int:
    (found,) = [view for view in server.service.views.queues if view.name == "root.a"]
    assert found.pool is not None
    return found.pool.maps.min_share


async def test_an_edited_file_is_in_force_and_a_broken_one_is_reported(
    server, tmp_path: Path
) -> None:
    assert minimum_of(server) == 1
    file = tmp_path / "conf" / "fair-scheduler.xml"
    file.write_text(POOL.format(3))
    await until(lambda: minimum_of(server) == 3)
    file.write_text(POOL.format("many"))
    await until(lambda: server.configuration.error is not None)
    assert "'many' is not a whole number" in server.configuration.error.message
    assert minimum_of(server) == 3


async def test_a_refresh_reads_the_file_at_once(server, tmp_path: Path) -> None:
    (tmp_path / "conf" / "fair-scheduler.xml").write_text(POOL.format(2))
    await server.configuration.refresh()
    assert minimum_of(server) == 2
