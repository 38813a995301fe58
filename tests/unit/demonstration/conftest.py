"""Owns what the tests of the demonstration have in common: how a rendered thing looks as text."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console, RenderableType

Render = Callable[..., str]


@pytest.fixture
def render() -> Render:
    def rendered(thing: RenderableType, width: int = 80) -> str:
        console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
        console.print(thing)
        return console.file.getvalue()

    return rendered
