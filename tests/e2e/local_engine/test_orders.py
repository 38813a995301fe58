"""The local engine keeps to what all engines keep to (`tests/engine_orders.py`)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine_orders import CHECKS

from fairshare.core.model.inputs import Input
from fairshare.engines.protocol import LaunchOrder

from .conftest import Start, shell, until


class Subject:
    """A local engine whose containers wait for a file."""

    def __init__(self, start: Start, folder: Path) -> None:
        self.engine, self._reports = start()
        self._folder = folder

    @property
    def reports(self) -> list[Input]:
        return self._reports.all

    def order(self, container: int) -> LaunchOrder:
        file = self._folder / f"end.{container}"
        line = f'until [ -e "{file}" ]; do sleep 0.02; done; exit 3'
        wanted = shell(container & 0xFFFF_FFFF, line)
        assert wanted.container == container
        return wanted

    def finish(self, container: int) -> None:
        (self._folder / f"end.{container}").touch()

    def wait(self, condition: Callable[[], bool]) -> None:
        until(condition)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_local_engine_keeps_to_the_contract_of_orders(check, start, tmp_path):
    check(Subject(start, tmp_path))
