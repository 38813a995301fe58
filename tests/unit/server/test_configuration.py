"""The configuration of a running server: looked after, read again, never half in force."""

import logging
from pathlib import Path

import msgspec
import pytest
from tests.waiting import until

from fairshare.core.model.events import ConfigurationLoaded
from fairshare.core.model.inputs import LoadConfiguration
from fairshare.errors import ConfigurationError, InputError
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings, Overrides, read_settings

pytestmark = pytest.mark.anyio

FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
FIFO = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
BROKEN = "<allocations>\n<queue name='a'><weight>heavy</weight></queue>\n</allocations>"


class Conf:
    """A configuration directory that a test edits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "fair-scheduler.xml"
        path.mkdir()
        self.site()
        self.queues(a=1)
        self.toml("check_interval_ms = 20\nsettle_ms = 0")

    def site(self, scheduler: str = FAIR, **properties: object) -> None:
        rows = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in {
                "yarn.resourcemanager.scheduler.class": scheduler,
                **properties,
            }.items()
        )
        (self.path / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")

    def queues(self, **weights: float) -> None:
        rows = "".join(
            f'<queue name="{name}"><weight>{weight}</weight></queue>'
            for name, weight in weights.items()
        )
        self.write(f"<allocations>{rows}</allocations>")

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def toml(self, configuration: str) -> None:
        (self.path / "fairshare.toml").write_text(f"[configuration]\n{configuration}\n")

    def settings(self, state: Path) -> LiveSettings:
        return read_settings(self.path, Overrides(port=0, state_directory=state))


@pytest.fixture
def conf(tmp_path: Path) -> Conf:
    return Conf(tmp_path / "conf")


@pytest.fixture
def start(conf: Conf, tmp_path: Path, engine, anyio_backend: str):
    """Starts a server of the directory as it is now."""

    async def started() -> LiveServer:
        server = LiveServer(conf.settings(tmp_path / "state"), lambda settings, path: engine)
        await server.start("http://127.0.0.1:1")
        return server

    return started


@pytest.fixture
async def server(start):
    made = await start()
    yield made
    await made.close()


class Lines(logging.Handler):
    """What the configuration has to say."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def __call__(self, level: int) -> list[str]:
        return [record.getMessage() for record in self.records if record.levelno >= level]


@pytest.fixture
def reported():
    logger = logging.getLogger("fairshare.configuration")
    lines = Lines()
    logger.addHandler(lines)
    yield lines
    logger.removeHandler(lines)


def weights(server: LiveServer) -> dict[str, float]:
    return {view.name: view.weight for view in server.service.views.queues if view.leaf}


def loads(server: LiveServer) -> list[bytes]:
    return [
        record.input.settings
        for record in server.journal.records()
        if isinstance(record.input, LoadConfiguration)
    ]


async def test_an_edited_file_is_in_force_without_a_restart(conf, server):
    version = server.configuration.view().version
    conf.queues(a=3, b=2)
    await until(lambda: weights(server) == {"root.a": 3.0, "root.b": 2.0})
    await until(lambda: not server.configuration.view().changed)
    view = server.configuration.view()
    assert view.version > version
    assert view.error is None
    assert len(loads(server)) == 2
    assert b'"root.b"' in loads(server)[-1]


async def test_a_broken_file_keeps_the_old_settings_and_is_logged_once(conf, server, reported):
    conf.write(BROKEN)
    await until(lambda: server.configuration.error is not None)
    error = server.configuration.error
    assert "fair-scheduler.xml:2:" in error.message
    assert [problem.line for problem in error.problems] == [2]
    for _ in range(3):
        await server.configuration.look()
    assert weights(server) == {"root.a": 1.0}
    (line,) = reported(logging.ERROR)
    assert f"{conf.file}:2:" in line
    assert server.configuration.error.since_ms == error.since_ms
    assert server.configuration.view().changed
    assert len(loads(server)) == 1

    conf.queues(a=4)
    await until(lambda: server.configuration.error is None)
    assert weights(server) == {"root.a": 4.0}
    conf.write(BROKEN)
    await until(lambda: len(reported(logging.ERROR)) == 2)


async def test_a_removed_file_is_logged_once_and_stays_in_force(conf, server, reported):
    conf.file.unlink()
    await until(lambda: reported(logging.WARNING))
    for _ in range(3):
        await server.configuration.look()
    assert len(reported(logging.WARNING)) == 1
    assert weights(server) == {"root.a": 1.0}
    conf.queues(a=2)
    await until(lambda: weights(server) == {"root.a": 2.0})


async def test_properties_of_yarn_site_do_not_follow_the_file(conf, server):
    conf.site(**{"yarn.scheduler.maximum-allocation-mb": 2048})
    conf.queues(a=2)
    await until(lambda: weights(server) == {"root.a": 2.0})
    assert server.service.state.settings.maximum_allocation == (8192, 4)


async def test_warnings_of_a_new_file_are_shown_and_logged(conf, server, reported):
    conf.write("<allocations><queue name='a'/><nonsense/></allocations>")
    await until(lambda: server.configuration.view().problems)
    (problem,) = server.configuration.view().problems
    assert "nonsense" in problem.message
    assert any("nonsense" in line for line in reported(logging.WARNING))


async def test_a_refresh_does_not_wait_and_takes_the_maximum_allocation_over(
    conf, start, anyio_backend
):
    conf.toml("check_interval_ms = 3600000\nsettle_ms = 3600000")
    server = await start()
    conf.queues(a=7)
    conf.site(
        **{
            "yarn.scheduler.maximum-allocation-mb": 2048,
            "yarn.scheduler.minimum-allocation-mb": 512,
        }
    )
    assert server.configuration.view().changed
    found = await server.configuration.refresh()
    assert found.needs_restart == ("yarn.scheduler.minimum-allocation-mb",)
    assert weights(server) == {"root.a": 7.0}
    assert server.service.state.settings.maximum_allocation == (2048, 4)
    assert server.service.state.settings.minimum_allocation == (1024, 1)
    assert not server.configuration.view().changed
    await server.close()


async def test_a_broken_refresh_changes_nothing_and_names_all_problems(conf, server):
    conf.site(**{"yarn.scheduler.maximum-allocation-mb": "much"})
    conf.write(BROKEN)
    with pytest.raises(ConfigurationError) as caught:
        await server.configuration.refresh()
    files = {Path(problem.file).name for problem in caught.value.problems}
    assert files == {"yarn-site.xml", "fair-scheduler.xml"}
    assert len(loads(server)) == 1
    assert server.configuration.error is not None


async def test_a_server_without_a_directory_has_nothing_to_read_again(settings, engine):
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:1")
    with pytest.raises(InputError) as caught:
        await server.configuration.refresh()
    assert caught.value.code == "no-configuration"
    assert server.configuration.view().file is None
    await server.close()


async def test_fifo_has_no_file_to_watch_and_can_be_refreshed(conf, start, anyio_backend):
    conf.site(FIFO)
    server = await start()
    assert server.configuration.view().file is None
    conf.site(FIFO, **{"yarn.scheduler.maximum-allocation-mb": 2048})
    await server.configuration.refresh()
    assert server.service.state.settings.maximum_allocation == (2048, 4)
    await server.close()


async def test_a_restart_with_the_same_files_records_no_load(start, anyio_backend):
    first = await start()
    version = first.configuration.view().version
    await first.close()
    second = await start()
    assert len(loads(second)) == 1
    assert second.configuration.view().version == version
    await second.close()


async def test_a_restart_with_other_files_is_a_reload(conf, start, anyio_backend):
    first = await start()
    await first.close()
    conf.queues(a=1, b=1)
    conf.site(**{"yarn.scheduler.fair.preemption": "true"})
    second = await start()
    assert list(weights(second)) == ["root.a", "root.b"]
    assert second.service.state.settings.preemption
    loaded = [
        record
        for record in second.journal.records()
        if any(isinstance(event, ConfigurationLoaded) for event in record.events)
    ]
    assert len(loaded) == 2
    assert second.configuration.view().version == loaded[-1].sequence
    await second.close()


async def test_what_a_reload_says_is_what_the_journal_holds(conf, server):
    conf.queues(a=5)
    await until(lambda: weights(server) == {"root.a": 5.0})
    assert loads(server)[-1] == msgspec.json.encode(server.service.state.settings)
