"""What the kernel counts of refused processes, and what is made of it."""

import select

from fairshare.engines.local.enforcement import ProcessLimit
from fairshare.engines.local.launch import Launch


class Poll:
    """Plain files cannot be waited for; only who is registered matters here."""

    def __init__(self):
        self.registered = set()

    def register(self, descriptor, events):
        assert events == select.POLLPRI
        self.registered.add(descriptor)

    def unregister(self, descriptor):
        self.registered.remove(descriptor)


def of(path, limit=20):
    launch = Launch(1, "c1", (), {}, "", 0, "watch", process_group=str(path), process_limit=limit)
    poll = Poll()
    return ProcessLimit(launch, poll), poll


def test_the_first_refusal_is_reported_once(tmp_path):
    events = tmp_path / "pids.events"
    events.write_text("max 0\n")
    limit, poll = of(tmp_path)
    assert limit.look(7.0) == ""
    assert limit.look_at == 12.0
    events.write_text("max 3\n")
    assert "more than 20 processes and threads" in limit.look(8.0)
    assert limit.look(9.0) == ""
    assert limit.look_at is None
    assert poll.registered == set()


def test_without_a_limit_or_a_count_nothing_is_looked_at(tmp_path):
    for found, poll in (of(tmp_path), of(tmp_path, 0), of("")):
        assert found.look(1.0) == ""
        assert found.look_at is None
        assert poll.registered == set()
