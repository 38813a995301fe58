"""The server's log: one line each, and never a reason to stop."""

import logging
import re

import pytest

from fairshare.core.model.events import (
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    Locality,
    NodeRemoved,
    SharesUpdated,
)
from fairshare.core.model.identifiers import container_id, container_name
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoState
from fairshare.errors import FairshareError
from fairshare.runtime.observers import Observers
from fairshare.server.event_log import EventLog, LogFile, close_log, open_log


@pytest.fixture
def log(tmp_path, capsys):  # stderr is caught before it is written to
    handlers = open_log(tmp_path / "server.log")
    yield tmp_path / "server.log"
    close_log(handlers)


def test_what_a_tenant_writes_cannot_begin_a_line_of_its_own(log):
    logging.getLogger("fairshare.events").info("%s", "name\n2026 INFO forged\x1b[2J")
    (line,) = log.read_text().splitlines()
    assert line.endswith(r"INFO fairshare.events: name\n2026 INFO forged\x1b[2J")


def test_warnings_are_also_written_to_stderr_and_the_rest_is_not(tmp_path, capsys):
    handlers = open_log(tmp_path / "server.log")
    logging.getLogger("fairshare.server").info("quiet")
    logging.getLogger("uvicorn.error").warning("loud")
    close_log(handlers)
    lines = (tmp_path / "server.log").read_text().splitlines()
    assert [line.split()[-1] for line in lines] == ["quiet", "loud"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("loud")


def test_a_log_that_cannot_be_opened_raises_an_error(tmp_path):
    (tmp_path / "server.log").mkdir()
    with pytest.raises(FairshareError, match="cannot write the log"):
        open_log(tmp_path / "server.log")


def test_a_full_disk_loses_only_lines_of_the_log(tmp_path, caplog):
    file = LogFile(tmp_path / "server.log")
    record = logging.makeLogRecord({"msg": "x", "levelno": logging.INFO})
    stream = file.stream

    class Full:
        def __getattr__(self, name):
            raise OSError(28, "No space left on device")

    file.stream = Full()
    file.emit(record)
    file.emit(record)
    assert caplog.text.count("lines are missing") == 1
    file.stream = stream
    file.emit(record)
    file.stream = Full()
    file.emit(record)
    assert caplog.text.count("lines are missing") == 2
    file.stream = stream
    file.close()
    assert (tmp_path / "server.log").read_text() == "x\n"


@pytest.fixture
def commit():
    """Lets the log see a commit, of records with these events each."""
    state = FifoState(ResourceTypes())
    state.epoch_ms = 17
    observers = Observers()
    EventLog(state).subscribe(observers)

    def commit(*events_of_records):
        observers.observe(
            [Record(n, 5, NodeBeat("n1"), events) for n, events in enumerate(events_of_records, 1)]
        )

    return commit


def test_the_events_of_a_commit_are_lines_of_one_instant_in_their_order(log, commit):
    first, second, other = container_id(1, 1, 1), container_id(1, 1, 2), container_id(2, 1, 999_999)
    granted = ContainerAllocated(
        first, 1, "n1", (512, 1), 1, 0, Locality.OFF_SWITCH, False, False, 5
    )
    commit(
        (granted, ContainerLaunched(first, None, 0, 0)),
        (ContainerLaunched(other, None, 0, 0), ContainerLaunched(second, None, 0, 1)),
        (ContainerCompleted(first, 1, "boom"),),
    )
    lines = log.read_text().splitlines()
    assert [line.partition(" INFO fairshare.events: ")[2] for line in lines] == [
        f"{container_name(17, first)} launched",
        f"{container_name(17, other)} launched",
        f"{container_name(17, second)} launched",
        f"{container_name(17, first)} ended with 1: boom",
    ]
    instants = {line.partition(" ")[0] for line in lines}
    assert len(instants) == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", instants.pop())


def test_a_commit_that_is_of_no_interest_writes_nothing(log, commit):
    commit((SharesUpdated(),))
    assert log.read_text() == ""


def test_a_line_break_of_a_tenant_is_escaped_in_its_line_alone(log, commit):
    token = "fst_0a1b2c3d_" + "s" * 43
    commit((NodeRemoved("n1"),), (NodeRemoved(f"n\n2 {token}"),), (NodeRemoved("\x1b[2J"),))
    assert [line.partition(": ")[2] for line in log.read_text().splitlines()] == [
        "node n1 is gone",
        r"node n\n2 fst_0a1b2c3d_... is gone",
        r"node \x1b[2J is gone",
    ]


def test_the_lines_of_a_commit_go_on_in_a_new_file_where_one_is_full(tmp_path, monkeypatch, commit):
    monkeypatch.setattr("fairshare.server.event_log.MAX_LOG_BYTES", 1_000)
    handlers = open_log(tmp_path / "server.log")
    commit(*[(NodeRemoved(f"n{number:03d}"),) for number in range(20)], (NodeRemoved("x" * 2_000),))
    commit((NodeRemoved("last"),))
    close_log(handlers)
    files = [tmp_path / f"server.log{end}" for end in (".3", ".2", ".1", "")]
    texts = [file.read_text() for file in files]
    assert all(len(text) < 1_000 for text in (*texts[:2], texts[3]))
    named = re.findall(r"node (\w+) is gone\n", "".join(texts))
    assert named == [*(f"n{number:03d}" for number in range(20)), "x" * 2_000, "last"]
