"""The ledger of a life beside integrals that are computed from the state at each instant."""

from collections import Counter
from itertools import groupby

from tests.ledger.lives import Life

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.resources import ResourceTypes
from fairshare.server.insight.ledger import HOUR_MS, KINDS, OWED, Ledger
from fairshare.server.insight.owed import Debts, reaches
from fairshare.settings.registry import family_of

TYPES = ResourceTypes()


def instants(records):
    """The records of each instant together."""
    return [(at_ms, [*some]) for at_ms, some in groupby(records, lambda one: one.now_ms)]


def followed(scheduler, records, ledgers, look):
    """Apply the records to a new state, which the ledgers follow; `look` is called with the
    scheduler and the span to each next instant."""
    manager = ResourceManager(family_of(scheduler).create(TYPES))
    watching = [make(manager.scheduler) for make in ledgers]
    before_ms = 0
    for at_ms, some in instants(records):
        if at_ms > before_ms:
            look(manager.scheduler, before_ms, at_ms)
        for ledger in watching:
            ledger.advance(at_ms)
        for record in some:
            for event in record.events:
                manager.state.apply(record.now_ms, event)
            manager.state.settle()
            for ledger in watching:
                ledger.observe(record)
        before_ms = at_ms
    return watching, before_ms


class Integrals:
    """What is expected, by hour, queue, partition, type and kind."""

    def __init__(self, begin_ms=0):
        self.areas = Counter()
        self.users = Counter()
        self._begin_ms = begin_ms

    def look(self, scheduler, from_ms, to_ms):
        """Nothing changes from one instant to another."""
        while from_ms < to_ms:
            end_ms = min(to_ms, from_ms - from_ms % HOUR_MS + HOUR_MS)
            self._add(scheduler, from_ms, end_ms - from_ms)
            from_ms = end_ms

    def _add(self, scheduler, at_ms, passed_ms):
        state, debts = scheduler.state, Debts(scheduler, at_ms)
        hour_ms = at_ms - at_ms % HOUR_MS
        used = Counter()
        for application in state.applications.values():
            for one in application.containers.values():
                label = state.label_of(state.nodes[one.node])
                for name, amount in TYPES.mapping(one.resource).items():
                    used[application.queue, label, name] += amount
                    key = (hour_ms, application.queue, application.user, label, name)
                    self.users[key] += amount * passed_ms
        for (queue, label), level in debts.levels.items():
            whole = debts.total_of(label)
            for place, name in enumerate(TYPES.names):
                u, s = used[queue, label, name], level.share[place]
                if place >= debts.counted or (not s and any(level.share)):
                    s = u  # of this type it has no share
                waits = debts.pending(queue, label).values()
                demand = used[queue, label, name] + sum(one[place] for one in waits)
                has = tuple(used[queue, label, one] for one in TYPES.names)
                at_share = reaches(has, level.share, whole, debts.counted)
                owed = 0 if at_share else max(0, min(s, demand) - u)
                key = (hour_ms, queue, label, name)
                for kind, amount in (
                    ("delivered", u),
                    ("entitled", s),
                    ("borrowed", max(0, u - s)),
                    ("owed", owed),
                    ("unasked", max(0, s - u - owed)),
                ):
                    self.areas[*key, kind] += amount * passed_ms


def sums(rows):
    """The rows of the ledger, summed up in the same way."""
    areas, users = Counter(), Counter()
    for row in rows:
        key = (row.hour_ms, row.queue, row.label, row.resource)
        kind = "owed" if row.kind.startswith(OWED) else row.kind
        areas[*key, {"lent": "unasked", "idle": "unasked"}.get(kind, kind)] += row.amount
        areas[*key, "entitled"] += -row.amount if kind == "borrowed" else row.amount
        if kind == "delivered":
            users[(row.hour_ms, row.queue, row.user, row.label, row.resource)] += row.amount
    return areas, users


def deviations(scheduler, seed, begin_ms=HOUR_MS - 3_000):
    """What is wrong with the ledger of a life, in lines. The life goes over the end of an hour."""
    records = [
        # As if it had begun shortly before the end of an hour.
        one.__class__(one.sequence, one.now_ms + begin_ms, one.input, one.events)
        for one in Life(scheduler, seed).records()
    ]
    expected = Integrals()
    exact = lambda of: Ledger(of, begin_ms, interval_ms=0)  # noqa: E731
    usual = lambda of: Ledger(of, begin_ms)  # noqa: E731
    (first, second), last_ms = followed(scheduler, records, (exact, usual), expected.look)
    rows = first.take(last_ms)
    areas, users = sums(rows)
    yield from _different("integral", areas, expected.areas)
    yield from _different("of a user", users, expected.users)
    # At fewer samples what is delivered is exact, too, and the identities hold.
    usual_areas, usual_users = sums(second.take(last_ms))
    yield from _different("of a user at samples", usual_users, expected.users)
    for key in {key[:4] for key in usual_areas}:
        delivered, borrowed = usual_areas[*key, "delivered"], usual_areas[*key, "borrowed"]
        parts = usual_areas[*key, "owed"] + usual_areas[*key, "unasked"]
        if usual_areas[*key, "entitled"] != delivered - borrowed + parts or borrowed > delivered:
            yield f"the parts of {key} do not add up"
    for label in {row.label for row in rows}:
        for name in TYPES.names:
            of = [one for one in rows if one.label == label and one.resource == name]
            lent = sum(one.amount for one in of if one.kind == "lent")
            borrowed = sum(one.amount for one in of if one.kind == "borrowed")
            if lent > borrowed:
                yield f"of {label!r} {lent} {name} are lent, and {borrowed} borrowed"
    for row in rows:
        if row.amount < 0 or (row.kind not in KINDS and not row.kind.startswith(OWED)):
            yield f"there is a row {row}"


def _different(what, found, expected):
    for key in sorted({*found, *expected}):
        if found[key] != expected[key]:
            yield f"{what} {key}: {found[key]}, and {expected[key]} was expected"
