"""What an executor does about a result whose node the server does not know at this moment."""

from types import SimpleNamespace

import cloudpickle
import pytest

from fairshare.client.errors import Refused
from fairshare.client.executor import containers
from fairshare.client.executor.calls import Load, State
from fairshare.client.executor.containers import Containers
from fairshare.client.executor.remote import VALUE


class Server:
    """One application, whose only task has succeeded, and whose node comes back some time."""

    def __init__(self):
        self.node_is_back = False

    def application(self, name):
        return SimpleNamespace(id=name, state="FINISHED", over=True)

    def tasks(self, name):
        return (SimpleNamespace(index=0, state="SUCCEEDED", container="c1"),)

    def result(self, container):
        if self.node_is_back:
            return VALUE, cloudpickle.dumps(9), "", 0.0
        raise Refused(409, "node-unreachable", "the node is not registered")


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def followed(server):
    """The containers of an executor, and the future of the only call."""
    state = State()
    sender = SimpleNamespace(client=server, attempts=1, submit=lambda *a, **b: "application_1_0001")
    made = Containers(state, sender)
    call = state.new_call(lambda call: None)
    call.function = call.data = cloudpickle.dumps(None)
    load = Load()
    load.add(call)
    made.send(load, None)
    yield made, call.future
    made.close()


def test_a_result_is_waited_for_until_its_node_has_registered_again(server, followed):
    made, future = followed
    made.look()
    assert not future.done()
    server.node_is_back = True
    made.look()
    assert future.result(0) == 9
    assert not made.followed


def test_a_result_whose_node_stays_away_is_an_error(followed, monkeypatch):
    monkeypatch.setattr(containers, "NODE_PATIENCE_S", 0.0)
    made, future = followed
    made.look()
    with pytest.raises(Refused, match="is not registered"):
        future.result(0)
