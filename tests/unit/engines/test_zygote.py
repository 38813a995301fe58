"""How the zygote waits for orders."""

import select
import signal
import socket

import pytest

from fairshare.engines.local import zygote


@pytest.fixture
def ends():
    """The zygote's ends, and those that write to them: orders, and the bytes of signals."""
    channel, server = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    woken, wakes = socket.socketpair()
    woken.setblocking(False)
    with channel, server, woken, wakes:
        yield channel, server, woken, wakes


def test_a_signal_that_comes_before_the_wait_for_an_order_ends_the_wait(ends, monkeypatch):
    """Python calls its handler between two instructions, so not while it waits."""
    channel, server, woken, wakes = ends
    wakes.send(bytes([signal.SIGCHLD]))  # as Python does when a signal comes
    poller = select.poll()
    waits = []

    class Poller:
        register = staticmethod(poller.register)

        @staticmethod
        def poll():
            waits.append(None)
            if len(waits) == 2:
                server.send(b"/container")
            return poller.poll(60_000)

    monkeypatch.setattr(zygote.select, "poll", Poller)
    assert zygote._next_order(channel, woken) == b"/container"
    assert len(waits) == 2


def test_orders_end_with_the_servers_end_of_the_channel(ends):
    channel, server, woken, _ = ends
    server.send(b"/container")
    server.close()
    assert zygote._next_order(channel, woken) == b"/container"
    assert zygote._next_order(channel, woken) == b""
