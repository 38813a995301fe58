"""What docs/mapreduce.md and the programs of examples/mapreduce show is run as it is written."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.served import PATIENCE_S, Served

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "mapreduce.md").read_text()
MEDIAN = ROOT / "examples" / "mapreduce" / "median.py"
TEXT = "the cat and the dog\nand the bird\n"
WORDS = Counter(TEXT.split())


@pytest.fixture(scope="module")
def url(tmp_path_factory) -> Iterator[str]:
    """A server with the example's configuration of pools."""
    state = tmp_path_factory.mktemp("server") / "state"
    conf = ROOT / "examples" / "three-teams-mapreduce"
    server = Served(conf, "--memory-mb", "4096", state=state)
    yield server.url
    server.end()


@pytest.fixture
def shell(url, tmp_path):
    """Runs a line of a page where `texts` is a folder with one text; what it prints."""
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one").write_text(TEXT)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def run(line: str, directory: Path = tmp_path) -> str:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=directory,
            env={**os.environ, "FAIRSHARE_URL": url, "PATH": path, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def counts(output: Path, *, count_first: bool) -> dict[str, int]:
    """The words of a result, and their numbers."""
    parts = sorted(output.glob("part-*"))
    pairs = [line.split() for part in parts for line in part.read_text().splitlines()]
    return {(b if count_first else a): int(a if count_first else b) for a, b in pairs}


def test_the_command_at_the_top_of_the_page_counts_words(shell, tmp_path) -> None:
    (line,) = re.findall(r"^    (fairshare mapreduce (?:.*\\\n)*.*)$", PAGE, re.MULTILINE)
    assert "has written" in shell(line)
    assert counts(tmp_path / "counts", count_first=True) == WORDS


def test_the_program_of_the_page_counts_words(shell, tmp_path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "program.py").write_text(program)
    printed = shell("python program.py")
    assert "part-00001" in printed
    assert printed.split()[-1] == str(WORDS.total())
    assert counts(tmp_path / "counts", count_first=False) == WORDS


def test_the_example_of_functions_shows_the_most_frequent_words(shell, tmp_path) -> None:
    source = (ROOT / "examples" / "mapreduce" / "word_count.py").read_text()
    (line,) = re.findall(r"^    (python examples/.*)$", source, re.MULTILINE)
    assert "--output /tmp/counts" in line  # not there: a stranger's file may have this name
    printed = shell(line.replace("/tmp/counts", str(tmp_path / "counts")), ROOT)
    total = sum(counts(tmp_path / "counts", count_first=False).values())
    assert f"{total} words" in printed
    pages = "".join(page.read_text() for page in sorted(ROOT.glob("docs/*.md")))
    assert total == len(re.findall(r"[^\W\d_]+", pages.lower()))


def test_the_example_of_programs_finds_the_medians(shell, tmp_path) -> None:
    (line,) = re.findall(r"^    (fairshare (?:.*\\\n)*.*)$", MEDIAN.read_text(), re.MULTILINE)
    (tmp_path / "numbers").write_text("a,3\nb,10\na,1\nnothing\na,2\nb,20\n")
    for name, place in (("FILES", tmp_path / "numbers"), ("DIR", tmp_path / "medians")):
        assert f" {name} " in line
        line = line.replace(f" {name} ", f" {place} ")
    assert "without a number=1" in shell(line, ROOT)
    found = (tmp_path / "medians" / "part-00000").read_text()
    assert found == "a\t2\nb\t15\n"
