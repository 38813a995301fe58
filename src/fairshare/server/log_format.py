"""Owns the format of the server's log lines: text for people, or JSON for programs."""

import logging
import time

import msgspec

from fairshare.server.access.tokens import masked

_encoder = msgspec.json.Encoder(enc_hook=str)


class LineFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO fairshare.events: ...`, in UTC, one line each.

    Text of tenants (a name, a queue) may contain line breaks; they are escaped within the line.
    """

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line and its traceback, without the secrets of tokens."""
        return masked(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line without its traceback."""
        line = super().formatMessage(record)
        if line.isprintable():
            return line
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


class JsonFormatter(LineFormatter):
    """`{"at": "2026-01-31T12:00:00.123Z", "level": "INFO", "logger": ..., "message": ...}`.

    With `event` (its fields) where the line is about an event, and `traceback` where it reports a
    bug.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        entry = {
            "at": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields = getattr(record, "event_fields", None)
        if fields is not None:
            entry["event"] = fields
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return masked(_encoder.encode(entry).decode())


FORMATS: dict[str, type[LineFormatter]] = {"text": LineFormatter, "json": JsonFormatter}
"""By `log_format` of fairshare.toml."""
