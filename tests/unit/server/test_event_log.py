"""The server's log: one line each, and never a reason to stop."""

import logging

import pytest

from fairshare.errors import FairshareError
from fairshare.server.event_log import LogFile, close_log, open_log


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
