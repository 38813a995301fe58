"""`make docs` refuses what would be broken on the site, and what other hosts would have to send."""

import os
import re
import subprocess
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PYTHON = ROOT / "build" / "docs" / "bin" / "python"
CONF = run_path(str(DOCS / "conf.py"))


def test_the_index_lists_every_page_once() -> None:
    listed = CONF["LISTED"].findall((DOCS / "index.md").read_text())
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")}
    records = {page for page in pages if re.match(r"decisions/\d", page)}
    assert sorted(listed) == sorted(pages - records - {"index"})


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<script src="//cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="http://example.org/a.css">',
        '<img src="a.png" srcset="a.png 1x, https://example.org/b.png 2x">',
        '<object data="https://example.org/a.svg"></object>',
    ],
)
def test_a_load_from_another_host_is_found_in_a_page(text: str) -> None:
    assert CONF["loads_from_other_hosts"]("a.html", text)


def test_loads_of_style_sheets_are_found_and_links_are_not_loads() -> None:
    find = CONF["loads_from_other_hosts"]
    assert find("a.css", "@import 'https://example.org/a.css'; a {b: url(//example.org/c)}") == [
        "https://example.org/a.css",
        "//example.org/c",
    ]
    assert find("a.css", "/* https://example.org */ a {b: url(c.png)}") == []
    assert find("a.html", '<a href="https://example.org">x</a><img src="_images/a.png">') == []


BAD = """# A

[an anchor elsewhere](b.md#nowhere) [an anchor here](#nowhere) [a page](no.md) [a file](../no.txt)
[Markdown outside](../no.md) [its anchor](../README.md#nowhere)

![a picture](no.png) ![a load](https://example.org/x.png)
"""
GOOD = """# B

[outside](../README.md) [a file](../some.txt) [here](#c-d-e)

## C `d`: e
"""


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="Sphinx is not installed: run `make docs`")
def test_the_build_names_everything_that_is_broken(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "conf.py").write_text((DOCS / "conf.py").read_text())
    (docs / "index.md").write_text("# I\n\n## Tutorials\n\n* [A](a.md)\n* [B](b.md)\n")
    (docs / "a.md").write_text(BAD)
    (docs / "b.md").write_text(GOOD)
    (docs / "unlisted.md").write_text("# U\n")
    (tmp_path / "README.md").write_text("# R\n")
    (tmp_path / "some.txt").write_text("text")
    recipe = re.search(r"-m sphinx (.*?) docs build/site", (ROOT / "Makefile").read_text(), re.S)
    assert recipe
    options = recipe[1].replace("\\\n", "").split()
    done = subprocess.run(
        [PYTHON, "-m", "sphinx", "--no-color", *options, "docs", "build/site"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    broken = [line.split("WARNING: ")[1] for line in done.stderr.splitlines()]
    targets = ("'nowhere'", "in doc 'b'", "'no.md'", "'../no.txt'", "'../no.md'", "/README'")
    for part in (*targets, "no.png"):
        assert any(part in line for line in broken), part
    assert "a.html loads https://example.org/x.png" in broken
    assert any("isn't included in any toctree" in line for line in broken)
    assert len(broken) == 9
    assert len(list(tmp_path.glob("build/site/_downloads/*/*"))) == 2
