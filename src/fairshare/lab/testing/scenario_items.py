"""Scenario files as pytest items: a file with one test, and the message of its failure."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairshare.lab.scenarios.report import Result, check_file, problem_line


class ScenarioFailed(Exception):
    """Some expectations of a scenario do not hold."""

    def __init__(self, result: Result) -> None:
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
        result = check_file(self.path, verify=True)
        if result.result == "skipped":
            if self.path.name.endswith((".scenario.yaml", ".scenario.yml")):
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
        file = os.path.relpath(self.path, self.config.invocation_params.dir)
        title = f"{error.result.name}\n" if error.result.name else ""
        lines = [problem_line(file, problem) for problem in error.result.problems]
        return title + "\n".join([*lines, *error.result.picture])

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The location and name of the test in pytest's output."""
        return self.path, None, f"scenario {self.path.name}"
