"""The pytest plugin: the fixture `fairshare_cluster`, and scenario files as tests.

pytest loads it for every project in an environment with fairshare, so that it imports nothing of
fairshare before it is used.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairshare.lab.testing.cluster import FairshareCluster

OPTION = "--fairshare-scenarios"
_SUFFIXES = (".scenario.yaml", ".scenario.yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--fairshare-scenarios DIR`."""
    parser.getgroup("fairshare").addoption(
        OPTION,
        action="append",
        default=[],
        metavar="DIR",
        help="Run every scenario file (*.yaml) below DIR as a test; may be given again. Files named"
        " *.scenario.yaml are run wherever pytest looks for tests.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the directories of the option to those in which pytest collects tests."""
    for text in config.getoption(OPTION):
        path = _absolute(config, text)
        if not path.is_dir():
            raise pytest.UsageError(f"{OPTION} {text}: there is no such directory")
        if hasattr(config, "workerinput"):  # pytest-xdist: only the controller adds them
            continue
        given = [_absolute(config, word.partition("::")[0]) for word in config.args]
        if not any(path.is_relative_to(one) for one in given):
            config.args.append(str(path))


def _absolute(config: pytest.Config, text: str) -> Path:
    return (config.invocation_params.dir / text).resolve()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a scenario file as a test."""
    named = file_path.name.endswith(_SUFFIXES)
    if not named and (
        file_path.suffix != ".yaml"
        or not any(
            file_path.resolve().is_relative_to(_absolute(parent.config, text))
            for text in parent.config.getoption(OPTION)
        )
    ):
        return None
    from fairshare.lab.testing.scenario_items import ScenarioFile

    found: pytest.Collector = ScenarioFile.from_parent(parent, path=file_path)
    return found


@pytest.fixture
def fairshare_cluster(request: pytest.FixtureRequest) -> "Callable[..., FairshareCluster]":
    """A function that starts a simulated cluster: `fairshare_cluster(conf_dir, nodes=...)`.

    A relative directory is relative to the test's file, otherwise to pytest's root directory. The
    other arguments are those of `fairshare.lab.testing.cluster.FairshareCluster`.
    """
    from fairshare.lab.testing.cluster import FairshareCluster

    def start(conf_dir: str | Path, nodes: Any = 1, **options: Any) -> FairshareCluster:
        beside = request.path.parent / conf_dir
        directory = beside if beside.is_dir() else request.config.rootpath / conf_dir
        return FairshareCluster(directory, nodes, **options)

    return start
