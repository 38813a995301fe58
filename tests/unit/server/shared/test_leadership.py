"""Two servers never record in one epoch, whatever happens to what they send and to themselves.

The simulation has the rule of the product (`Watch`) and a database that does one thing after the
other, as a transaction does. What servers send may arrive late, in another order, twice removed
from what its sender believes, or never; so may answers. Servers are frozen at any instant.
"""

import heapq
import random
from dataclasses import dataclass, field

import pytest

from fairshare.server.shared.leadership import BEAT_S, Beat, Holder, Watch, holder_of

RUNS = 300
SERVERS = 3
END_S = 200.0
PATIENCE_S = 3.0


@dataclass
class Database:
    """What `tables.py` does, as statements that happen at once."""

    epoch: int = 0
    holder: str = ""
    count: int = 0
    records: list[tuple[int, str]] = field(default_factory=list)

    def read(self):
        return Beat(self.epoch, self.holder, self.count)

    def claim(self, seen, holder):
        if self.epoch != seen.epoch or (self.holder and self.count != seen.count):
            return None
        self.epoch, self.holder, self.count = self.epoch + 1, holder, self.count + 1
        return self.epoch

    def beat(self, epoch):
        if self.epoch != epoch:
            return False
        self.count += 1
        return True

    def record(self, epoch, sequence, name):
        if self.epoch != epoch:
            return False
        if self.records[sequence - 1 :] == [(epoch, name)]:
            return True  # it was asked for before, and the answer was lost
        if len(self.records) + 1 != sequence:
            return False
        self.records.append((epoch, name))
        return True


class Server:
    """One server: it reads, claims, beats and records, and believes what it is answered."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        self.watch = Watch(PATIENCE_S, name)
        self.epoch = None
        self.sequence = 0
        self.frozen_until_s = 0.0
        self.acknowledged = []
        self.waits_until_s = 0.0

    def step(self):
        world = self.world
        if self.frozen_until_s > world.now_s:
            return
        if world.random.random() < 0.02:
            self.frozen_until_s = world.now_s + world.random.uniform(0, 30)
        if self.epoch is None:
            world.send(lambda database: database.read(), self.saw)
            return
        epoch = self.epoch
        world.send(lambda database: database.beat(epoch), self.beaten)
        if world.now_s >= self.waits_until_s:
            self.waits_until_s, sequence = world.now_s + 3, self.sequence + 1
            world.send(
                lambda database: database.record(epoch, sequence, self.name),
                lambda done: self.recorded(epoch, sequence, done),
            )

    def saw(self, beat):
        if self.epoch is None and self.watch.may_claim(self.world.now_s, beat):
            text = f'{{"host":"h","pid":1,"place":"{self.name}-{self.world.now_s}"}}'
            self.world.send(lambda database: database.claim(beat, text), self.claimed)

    def claimed(self, epoch):
        if epoch is not None:
            self.epoch, self.waits_until_s = epoch, 0.0
            self.sequence = len(self.world.database.records)  # it reads what is there

    def beaten(self, leads):
        if not leads:
            self.epoch = None

    def recorded(self, epoch, sequence, done):
        self.waits_until_s = 0.0
        if done:
            self.acknowledged.append((sequence, epoch))
            if self.epoch == epoch:
                self.sequence = max(self.sequence, sequence)
        elif self.epoch == epoch:
            self.epoch = None


class World:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.now_s = 0.0
        self.database = Database()
        self.away_until_s = 0.0
        self._agenda = []
        self._number = 0
        self.servers = [Server(self, f"s{number}") for number in range(SERVERS)]

    def at(self, delay_s, action):
        self._number += 1
        heapq.heappush(self._agenda, (self.now_s + delay_s, self._number, action))

    def delay_s(self):
        return self.random.choice((0.001, 0.01, 0.1, self.random.uniform(0, 4)))

    def send(self, statement, answered):
        if self.random.random() < 0.05:
            return

        def arrive():
            answer = statement(self.database)
            if self.random.random() >= 0.05:
                self.at(self.delay_s(), lambda: answered(answer))

        self.at(self.delay_s(), arrive)

    def run(self):
        for server in self.servers:
            for tick in range(int(END_S / BEAT_S)):
                self.at(tick * BEAT_S + self.random.uniform(0, BEAT_S), server.step)
        while self._agenda:
            self.now_s, _, action = heapq.heappop(self._agenda)
            action()


@pytest.mark.slow
def test_no_two_servers_record_in_one_epoch_and_nothing_acknowledged_is_lost():
    epochs = 0
    for seed in range(RUNS):
        world = World(seed)
        world.run()
        owners = {}
        for epoch, name in world.database.records:
            assert owners.setdefault(epoch, name) == name, f"seed {seed}, epoch {epoch}"
        order = [epoch for epoch, _ in world.database.records]
        assert order == sorted(order), f"seed {seed}"
        for server in world.servers:
            for sequence, epoch in server.acknowledged:
                assert world.database.records[sequence - 1] == (epoch, server.name)
        epochs += world.database.epoch
    assert epochs > 5 * RUNS  # leaders changed all the time


def test_a_leader_that_beats_is_left_alone_and_one_that_does_not_is_followed():
    watch = Watch(PATIENCE_S, "here")
    other = '{"host":"a","pid":1,"place":"there"}'
    assert not any(watch.may_claim(0.5 * n, Beat(1, other, n)) for n in range(40))
    assert not watch.may_claim(22.0, Beat(1, other, 39))
    assert watch.may_claim(22.6, Beat(1, other, 39))
    assert not watch.may_claim(22.7, Beat(2, other, 40))


def test_the_time_in_which_the_database_was_away_does_not_count():
    watch = Watch(PATIENCE_S, "here")
    beat = Beat(1, '{"host":"a","pid":1,"place":"there"}', 7)
    assert not watch.may_claim(0.0, beat)
    watch.begin_again()
    assert not watch.may_claim(10.0, beat)
    assert watch.may_claim(13.0, beat)


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_holder_that_cannot_be_read_is_a_holder_of_which_nothing_is_known(text):
    holder = holder_of(Beat(1, text, 1))
    assert holder == (Holder("an unknown host", 0, "") if text else None)
