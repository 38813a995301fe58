"""`make docs` names the pictures that are older than the pages that they show."""

from pathlib import Path

import pytest
from tests.browser import pictures


@pytest.fixture
def static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pages of two views, of which one imports a file."""
    files = {
        "index.html": "<html>",
        "theme.js": "",
        "parts.css": "a {}",
        "main.js": 'import { Shell } from "./shell.js";\nconst load = import("./views/nodes.js");',
        "shell.js": "",
        "bar.js": "",
        "views/scheduler.js": 'import {\n  bar,\n} from "../bar.js";\n',
    }
    files |= {f"views/{name}.js": "" for name in ("applications", "application", "nodes")}
    files["views/configuration.js"] = ""
    for name, text in files.items():
        (tmp_path / "static" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "static" / name).write_text(text)
    monkeypatch.setattr(pictures, "STATIC", tmp_path / "static")
    return tmp_path / "static"


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("bar.js", {"scheduler", "first-run"}),
        ("views/nodes.js", {"nodes"}),
        ("shell.js", {"scheduler", "nodes", "configuration"}),
        ("parts.css", {"scheduler", "nodes", "configuration"}),
    ],
)
def test_a_picture_is_old_when_a_file_that_it_shows_has_changed(
    static: Path, tmp_path: Path, file: str, names: set[str]
) -> None:
    assert len(pictures.older(tmp_path)) == len(pictures.PICTURES)
    for picture in pictures.PICTURES:
        pictures.mark(picture, tmp_path)
    assert pictures.older(tmp_path) == []
    (static / file).write_text("changed")
    older = set(pictures.older(tmp_path))
    assert older & {"scheduler", "first-run", "nodes", "configuration"} >= names
    assert ("nodes" in older) == ("nodes" in names)
    assert ("configuration" in older) == ("configuration" in names)


def test_every_picture_has_a_file() -> None:
    folder = Path(__file__).parents[3] / "docs" / "screenshots"
    made = {file.stem for file in folder.glob("*.png")}
    assert made == {picture.name for picture in pictures.PICTURES}
