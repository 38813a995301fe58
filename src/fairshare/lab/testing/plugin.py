"""The pytest plugin: the fixture `fairshare_cluster`, and scenario files as tests.

pytest loads it for every project in an environment with fairshare, so that it imports nothing of
fairshare before it is used.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairshare.lab.scenarios.report import Result
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
    return ScenarioFile.from_parent(parent, path=file_path)


class ScenarioFailed(Exception):
    """Some expectations of a scenario do not hold."""

    def __init__(self, result: "Result") -> None:
        self.result = result
        super().__init__(result.file)


class ScenarioFile(pytest.File):
    """A scenario file as a collector."""

    def collect(self) -> Iterator[pytest.Item]:
        """The only test of the file."""
        yield ScenarioItem.from_parent(self, name="scenario")


class ScenarioItem(pytest.Item):
    """The test of one scenario."""

    def runtest(self) -> None:
        """Run the scenario to its end; raises ScenarioFailed with all failed expectations."""
        from fairshare.lab.scenarios.report import check_file

        result = check_file(self.path, verify=True)
        if result.result == "skipped":
            if self.path.name.endswith(_SUFFIXES):
                result = result.as_malformed()
            else:
                pytest.skip("not a scenario: it has no key 'scenario: 1'")
        if result.result == "failed":
            raise ScenarioFailed(result)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """One line for each failed check, and the cluster, as `fairshare check` prints them."""
        error = excinfo.value
        if not isinstance(error, ScenarioFailed):
            return str(super().repr_failure(excinfo))
        from fairshare.lab.scenarios.report import problem_line

        file = os.path.relpath(self.path, self.config.invocation_params.dir)
        title = f"{error.result.name}\n" if error.result.name else ""
        lines = [problem_line(file, problem) for problem in error.result.problems]
        return title + "\n".join([*lines, *error.result.picture])

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The location and name of the test in pytest's output."""
        return self.path, None, f"scenario {self.path.name}"


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
