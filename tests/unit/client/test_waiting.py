"""How long a client waits for a server that is away."""

import pytest

from fairshare.client.errors import ServerUnreachable
from fairshare.client.waiting import Patience


def test_a_server_that_has_never_answered_is_not_waited_for():
    patience = Patience(60.0)
    with pytest.raises(ServerUnreachable), patience.outlast_absence():
        raise ServerUnreachable("no server")


def test_a_server_that_has_answered_before_is_waited_for_from_the_first_question_on():
    patience = Patience(60.0, answered=True)
    with patience.outlast_absence():
        raise ServerUnreachable("it restarts")
    assert patience.absent


def test_a_server_that_has_answered_before_is_not_waited_for_longer_than_patience_allows():
    patience = Patience(-1.0, answered=True)
    with pytest.raises(ServerUnreachable), patience.outlast_absence():
        raise ServerUnreachable("it is away")
