"""The log on stderr: it is written in order, and nobody waits for who reads it."""

import logging
import os

from fairshare.server.event_log import Terminal


def line(text):
    return logging.makeLogRecord({"msg": text})


def test_lines_come_in_their_order_and_all_are_there_after_the_end(tmp_path):
    with (tmp_path / "stderr").open("w") as stream:
        terminal = Terminal(stream)
        for number in range(100):
            terminal.emit(line(str(number)))
        terminal.close()
        terminal.close()
    found = (tmp_path / "stderr").read_text().split()
    assert found == [str(number) for number in range(100)]


def test_a_pipe_that_is_not_read_blocks_no_writer_and_missing_lines_are_counted():
    reads, writes = os.pipe()
    with os.fdopen(reads) as reader, os.fdopen(writes, "w") as stream:
        terminal = Terminal(stream, most_lines=3)
        long = "x" * 70_000  # more than a pipe holds
        for _ in range(10):
            terminal.emit(line(long))
        # One is being written, or about to be, and three wait.
        found = reader.readline() + reader.readline() + reader.readline()
        assert found == f"{long}\n" * 3
        missing = terminal._missing
        assert missing in (6, 7)
        terminal.emit(line("more"))
        terminal.close()
        stream.close()
        assert f"({missing} lines are missing here: stderr was not read)\nmore\n" in reader.read()


def test_a_reader_that_has_gone_causes_no_error():
    class Gone:
        written = 0

        def write(self, text):
            self.written += 1
            raise BrokenPipeError

    stream = Gone()
    terminal = Terminal(stream)
    terminal.emit(line("x"))
    terminal.emit(line("y"))
    terminal.close()
    assert stream.written == 2
