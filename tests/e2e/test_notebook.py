"""The notebook of the examples runs from its first cell to its last, and each shows something."""

import ast
import contextlib
import json
from pathlib import Path

import pytest

from .test_server import Server

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOK = json.loads((EXAMPLES / "three-teams.ipynb").read_text())
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


@pytest.fixture
def server(tmp_path, monkeypatch):
    server = Server(EXAMPLES / "three-teams", tmp_path / "state", "--port", "0")
    monkeypatch.setenv("FAIRSHARE_URL", server.url)
    yield server
    with contextlib.suppress(Exception):
        server.post("/shutdown", json={"stop_containers": True})
    server.wait()


def value(cell, names):
    """What the last line of a cell returns, after the lines before it."""
    *lines, last = ast.parse(cell).body
    assert isinstance(last, ast.Expr), f"the last line of a cell shows nothing: {cell}"
    exec(compile(ast.Module(lines, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.usefixtures("server")
def test_the_notebook_of_the_examples_runs_and_each_cell_shows_itself(monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, object] = {}
    shown = [value(cell, names)._repr_html_() for cell in CELLS]
    names["client"].close()
    texts = ("root", "nap", "", "share", "nap", "Makespan", "fifo", "Turnaround", "", "passed")
    for cell, text, html in zip(CELLS, texts, shown, strict=True):
        assert html.startswith("<div"), cell
        assert text in html, cell
    assert all(not cell.get("outputs") for cell in NOTEBOOK["cells"]), "it is kept without outputs"
