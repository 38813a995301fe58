"""What is done before the server starts."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from fairshare.demonstration import corpus, machine
from fairshare.demonstration import server as server_module
from fairshare.demonstration.applications import plan as planning
from fairshare.demonstration.applications.plan import Plan
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.machine import Rates
from fairshare.demonstration.server import Server, configuration_directory, confined
from fairshare.demonstration.teams import QUICK

RATES = Rates(numbers=1_000_000, mapped_bytes=1_000, searched_bytes=1_000)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty documents of 100 bytes instead of this Python's own, on a machine of known speed."""
    folder = tmp_path / "library"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02d}.txt").write_text("word " * 20)
    monkeypatch.setattr(corpus, "roots", lambda: [folder])
    monkeypatch.setattr(machine, "measure", lambda *_: RATES)
    return folder


def prepare(folder: Path, repeated: Plan | None = None) -> tuple[planning.Prepared, list[str]]:
    said: list[str] = []
    folder.mkdir()
    return planning.prepare(QUICK, repeated, folder, said.append), said


def test_the_programs_find_all_documents_of_the_plan(tmp_path: Path, library: Path) -> None:
    prepared, said = prepare(tmp_path / "first")
    plan = prepared.plan
    assert said == ["Measuring how fast this machine is ..."]
    assert plan.documents == len(prepared.documents) == 20
    splits = json.loads((tmp_path / "first" / "exchange" / "splits.json").read_text())
    assert len(splits) == plan.maps
    assert [path for split in splits for path in split] == [
        document.path for document in prepared.documents
    ]
    halves = json.loads((tmp_path / "first" / "queries.json").read_text())
    assert [path for half in halves for path in half] == [
        document.path for document in prepared.searched
    ]
    assert len(halves) == 2


def test_a_plan_is_repeated_as_long_as_machine_and_library_are_the_same(
    tmp_path: Path, library: Path
) -> None:
    plan = prepare(tmp_path / "first")[0].plan
    again, said = prepare(tmp_path / "second", plan)
    assert again.plan == plan
    assert said == ["The work is that of the last run with the other scheduler."]
    other_machine = msgspec.structs.replace(plan, processors=plan.processors + 1)
    assert prepare(tmp_path / "third", other_machine)[0].plan == plan
    (library / "05.txt").write_text("another size")
    _, said = prepare(tmp_path / "fourth", plan)
    assert said == ["Measuring how fast this machine is ..."]


def test_a_python_without_sources_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "roots", lambda: [tmp_path / "nowhere"])
    with pytest.raises(DemonstrationFailed, match="no sources"):
        prepare(tmp_path / "folder")


@pytest.mark.slow
def test_the_speed_of_a_machine_is_that_of_the_programs(tmp_path: Path) -> None:
    documents = corpus.first_bytes(corpus.documents(corpus.roots()), 200_000)
    with confined():
        rates = machine.measure(documents, 1, tmp_path / "sample")
    # No machine that runs this is a thousand times slower or faster than ours.
    assert 1e3 < rates.numbers < 1e9
    assert 1e3 < rates.mapped_bytes < 1e9
    assert rates.mapped_bytes < rates.searched_bytes < 1e10


@pytest.mark.slow
def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    missing = [corpus.Document(str(tmp_path / "missing.txt"), 100)]
    with pytest.raises(DemonstrationFailed, match=r"(?s)ended with 1:.*FileNotFoundError"):
        machine.measure(missing, 1, tmp_path / "sample")


def test_processors_are_given_back() -> None:
    before = os.sched_getaffinity(0)
    with confined():
        assert os.sched_getaffinity(0) == set(machine.processors())
        assert 1 <= len(machine.processors()) <= machine.MOST_PROCESSORS
    assert os.sched_getaffinity(0) == before


def test_an_installation_without_the_examples_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "EXAMPLES", tmp_path)
    with pytest.raises(DemonstrationFailed, match="three-teams is missing"):
        configuration_directory()


def test_a_server_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "yarn-site.xml").write_text("<configuration>")
    folder = tmp_path / "folder"
    folder.mkdir()
    server = Server(folder, tmp_path / "conf", "fair")
    try:
        with pytest.raises(DemonstrationFailed, match=r"(?s)did not start.*yarn-site.xml"):
            server.start()
    finally:
        server.stop()
