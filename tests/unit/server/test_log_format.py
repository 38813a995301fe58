"""The log's two forms."""

import json
import logging
import sys

from fairshare.server.event_log import JsonFormatter, LineFormatter


def record(message, *arguments, **more):
    found = logging.LogRecord("fairshare.x", logging.INFO, "p", 1, message, arguments, None)
    vars(found).update(more)
    return found


def test_json_has_a_line_for_each_entry_whatever_tenants_write():
    line = JsonFormatter().format(record("queue %s", 'a\n"b"'))
    assert "\n" not in line
    reported = json.loads(line)
    assert reported["message"] == 'queue a\n"b"'
    assert (reported["level"], reported["logger"]) == ("INFO", "fairshare.x")
    assert reported["at"].endswith("Z")


def test_json_has_a_line_for_each_event_with_its_fields():
    fields = [{"type": "NodeRemoved", "node": "n1"}, {"type": "NodeRemoved", "node": "n2"}]
    block = JsonFormatter().format(
        record("x", lines=["n1 is gone", "n2 is gone"], documents=fields)
    )
    first, second = (json.loads(line) for line in block.splitlines())
    assert (first["message"], first["event"]) == ("n1 is gone", fields[0])
    assert (second["message"], second["event"]) == ("n2 is gone", fields[1])
    assert first["at"] == second["at"]


def test_json_has_a_traceback_in_its_line():
    try:
        raise ValueError("wrong")
    except ValueError:
        found = record("x", exc_info=sys.exc_info())
    line = JsonFormatter().format(found)
    assert "\n" not in line
    assert "ValueError: wrong" in json.loads(line)["traceback"]


def test_no_form_shows_the_secret_of_a_token():
    token = "fst_0a1b2c3d_" + "s" * 43
    for form in (JsonFormatter(), LineFormatter()):
        assert "sss" not in form.format(record("GET /%s", token))
