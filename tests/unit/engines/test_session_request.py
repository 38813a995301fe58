"""What a user wants to run in a container is read strictly."""

import pytest

from fairshare.engines.local.sessions.command import MOST_ARGUMENTS, Request


def test_a_request_has_a_command_and_perhaps_a_terminal():
    assert Request.read({"arguments": ["ls", ""]}) == Request(("ls", ""))
    said = {"arguments": ["bash"], "terminal": True, "term": "xterm", "rows": 30, "columns": 90}
    assert Request.read(said) == Request(("bash",), True, "xterm", 30, 90)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "the words of a command"),
        ({"arguments": []}, "the words of a command"),
        ({"arguments": "ls"}, "arguments must be of the type list"),
        ({"arguments": ["ls", 3]}, "the words of a command"),
        ({"arguments": [""]}, "names no program"),
        ({"arguments": ["a\0b"]}, "NUL"),
        ({"arguments": ["a"], "term": "\0"}, "NUL"),
        ({"arguments": ["a"] * (MOST_ARGUMENTS + 1)}, "at most"),
        ({"arguments": ["a"], "terminal": 1}, "terminal must be of the type bool"),
        ({"arguments": ["a"], "rows": True}, "rows must be of the type int"),
        ({"arguments": ["a"], "uid": 0}, "there is no 'uid' in a request"),
    ],
)
def test_anything_else_is_refused(said, words):
    with pytest.raises(ValueError, match=words):
        Request.read(said)
