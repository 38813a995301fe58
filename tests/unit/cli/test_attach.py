"""`fairshare attach`, where a container has no terminal to take over."""

from types import SimpleNamespace

import pytest

from fairshare.cli import terminals
from fairshare.client.errors import Refused

CLIENT = SimpleNamespace(url="http://127.0.0.1:1")


def refuse(code):
    def open_session(*_):
        raise Refused(409, code, "there is none", "")

    return open_session


@pytest.mark.parametrize("code", ["no-terminal", "no-session", "not-running"])
def test_the_output_is_shown_of_a_container_without_a_terminal_or_that_has_just_ended(
    monkeypatch, code
):
    monkeypatch.setattr(terminals, "open_session", refuse(code))
    assert terminals._terminal(CLIENT, "container_1", optional=True) is None


def test_a_container_that_was_named_must_have_a_terminal(monkeypatch):
    monkeypatch.setattr(terminals, "open_session", refuse("not-running"))
    with pytest.raises(Refused):
        terminals._terminal(CLIENT, "container_1", optional=False)
