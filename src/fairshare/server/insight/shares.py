"""The interpretation of a queue's values: its entitlement, what it is owed, what it borrows, and
one sentence that says so.

Reads only the views of one instant; decides nothing. A queue's entitlement is `min(demand, fair
share)`; it is owed its entitlement minus its usage. What budgets withhold and what paused gangs
lack is demand, too, which the demand of schedulers does not have.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fairshare.api.queues import ShareFields
from fairshare.core.model.queues import parents_of
from fairshare.core.model.resources import (
    MEMORY,
    Resource,
    ResourceTypes,
    add,
    positive,
    scale,
    smallest,
    subtract,
)
from fairshare.core.model.state import Gang
from fairshare.core.model.tasks import GroupProgress
from fairshare.core.schedulers.protocol import State
from fairshare.core.schedulers.views import QueueView


class Share(ShareFields[Resource], frozen=True):
    """One queue compared with its share."""


class Shares:
    """The shares of all queues at one instant; `beside` is what is demanded beside the demand of
    the scheduler."""

    def __init__(
        self,
        queues: Sequence[QueueView],
        total: Resource,
        types: ResourceTypes,
        beside: Sequence["Beside"] = (),
    ) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._total = total
        self._types = types
        self._beside = beside
        self._over = _over_their_share(queues, len(total))

    def of(self, queue: QueueView) -> Share:
        """One queue compared with its share."""
        places = tuple(range(len(queue.used)))
        # Those of which it has a share: a policy may divide only memory.
        measured = tuple(place for place in places if queue.fair_share[place]) or places
        demand = self._demand(queue)
        place = self._dominant(queue, measured)
        entitled = smallest(demand, queue.fair_share)
        owed = _only(positive(subtract(entitled, queue.used)), measured)
        borrowed = _only(positive(subtract(queue.used, queue.fair_share)), measured)
        fair = queue.fair_share[place]
        others = self.over(place, queue.name) if owed[place] else ()
        borrower = others[0][0] if others else None
        state = _state(queue, demand, owed[place], borrowed[place], place)
        return Share(
            dominant=self._types.names[place],
            used_share=used_share(queue.used, self._total),
            used_of_fair=queue.used[place] / fair if fair else None,
            entitled=entitled,
            owed=owed,
            borrowed=borrowed,
            state=state,
            sentence=self._sentence(queue, state, place, borrower),
            borrower=borrower,
        )

    def over(self, place: int, queue: str) -> list[tuple[str, int]]:
        """The other leaves with more than their share of a type, and by how much, the largest
        excess first."""
        return [(name, amount) for amount, name in self._over[place] if name != queue]

    def _demand(self, queue: QueueView) -> Resource:
        """What it uses and asks for."""
        demand = queue.demand
        for one in self._beside:
            if queue.name in one.amounts:
                demand = add(demand, one.amounts[queue.name])
        return demand

    def _dominant(self, queue: QueueView, measured: tuple[int, ...]) -> int:
        """The index of the type of which the queue uses the largest fraction of the cluster; among
        equals, of which it is entitled to the largest fraction, and then, of which most is demanded
        beside the demand of the scheduler."""
        demand = self._demand(queue)
        beside = subtract(demand, queue.demand)

        def parts(place: int) -> tuple[float, float, float, int]:
            due = min(demand[place], queue.fair_share[place])
            all_of_it = self._total[place] or 1
            used = queue.used[place] / all_of_it
            return used, due / all_of_it, beside[place] / all_of_it, -place

        return max(measured, key=parts)

    def _sentence(self, queue: QueueView, state: str, place: int, borrower: str | None) -> str:
        name = self._types.names[place]
        used, fair, demand = (line[place] for line in (queue.used, queue.fair_share, queue.demand))
        beside = [
            f"{one.words} {amount(value, name)}."
            for one in self._beside
            if queue.name in one.amounts and (value := one.amounts[queue.name][place])
        ]
        if beside and not demand:
            return " ".join(beside)
        share = "guaranteed capacity" if queue.capacity is not None else "fair share"
        match state:
            case "idle":
                return "Nothing runs or waits here."
            case "served":
                text = f"Has all it asks for: {amount(used, name)}."
            case "full" if demand <= used:
                text = f"Uses {amount(used, name)}."
            case "full":
                text = (
                    f"Has its whole {share} of {amount(fair, name)}, and asks for "
                    f"{amount(demand - used, name)} more."
                )
            case "borrows":
                text = (
                    f"Uses {amount(used, name)}, {amount(used - fair, name)} beyond its {share} of "
                    f"{amount(fair, name)}: lent while others do not need it."
                )
            case _:
                text = self._owed_sentence(queue, place, borrower)
        return " ".join((text, *beside)) + _held_back(queue)

    def _owed_sentence(self, queue: QueueView, place: int, borrower: str | None) -> str:
        name = self._types.names[place]
        used = queue.used[place]
        entitled = min(self._demand(queue)[place], queue.fair_share[place])
        lacking = entitled - used
        text = (
            f"Receives {amount(used, name)} of the {amount(entitled, name)} it is entitled to; "
            f"{amount(lacking, name)} {'is' if lacking == 1 else 'are'} owed."
        )
        root = next(iter(self._queues.values()), None)
        free = self._total[place] - (0 if root is None else root.used[place])
        if borrower is not None:
            over = next(found for found, whose in self._over[place] if whose == borrower)
            text += f" {borrower} has {amount(over, name)} beyond its own share."
        elif free > 0:
            text += (
                f" {amount(free, name)} of the cluster are free, but not in a place, a size or "
                "within a limit that would serve it."
            )
        return text


class Beside(NamedTuple):
    """What is demanded and is not a part of a scheduler's demand, in words, and how much of it by
    queue, with all below it."""

    words: str
    amounts: Mapping[str, Resource]


def beside_demand(state: State) -> tuple[Beside, ...]:
    """What budgets withhold, and what gangs lack whose asks are taken back until all of it fits."""
    ledger = state.ledger
    budgets = ledger is not None and ledger.over
    kinds = (
        ("A budget that is used up withholds", _withheld(state) if budgets else ()),
        ("Gangs that wait until all of them fit lack", _lacking(state) if state.gangs else ()),
    )
    found = []
    for words, parts in kinds:
        amounts: dict[str, Resource] = {}
        for queue, resource in parts:
            for name in (queue, *parents_of(queue)):
                amounts[name] = add(amounts.get(name, state.none), resource)
        if amounts:
            found.append(Beside(words, amounts))
    return tuple(found)


def _withheld(state: State) -> Iterator[tuple[str, Resource]]:
    for attempt in state.attempts.values():
        for key in attempt.asks.withheld:
            if (ask := key.anywhere) is not None:
                yield attempt.application.queue, scale(ask.resource, ask.count)


def _lacking(state: State) -> Iterator[tuple[str, Resource]]:
    for (number, group), gang in state.gangs.items():
        if gang.paused:
            application = state.applications[number]
            yield application.queue, lacking(application.tasks.groups[group], gang)


def lacking(group: GroupProgress, gang: Gang) -> Resource:
    """What a gang lacks that is paused."""
    return scale(group.spec.resource, max(0, len(group.waiting) - len(gang.held)))


def used_share(used: Resource, total: Resource) -> float:
    """The largest used fraction of memory, CPU and further types.

    >>> used_share((1024, 3), (4096, 4))
    0.75
    """
    return max((u / t for u, t in zip(used, total, strict=True) if t), default=0.0)


def amount(value: int, name: str) -> str:
    """An amount of one type in words.

    >>> amount(1536, "memory-mb"), amount(64, "memory-mb"), amount(1, "vcores")
    ('1.5 GiB', '64 MiB', '1 vcore')
    """
    if name != MEMORY:
        return f"{value:,} {name.removesuffix('s') if value == 1 else name}"
    if 0 < abs(value) < 102:
        return f"{value} MiB"
    size, unit = (value / 1024, "GiB") if value < 1023488 else (value / 1048576, "TiB")
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{size:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {unit}"


def _only(line: Resource, places: Iterable[int]) -> Resource:
    wanted = set(places)
    return tuple(value if place in wanted else 0 for place, value in enumerate(line))


def _state(queue: QueueView, demand: Resource, owed: int, borrowed: int, place: int) -> str:
    if not any(queue.used) and not any(demand):
        return "idle"
    if owed:
        return "owed"
    if borrowed:
        return "borrows"
    return "full" if demand[place] > queue.used[place] else "served"


def _held_back(queue: QueueView) -> str:
    held = queue.pending_applications
    if not held:
        return ""
    return (
        " One application is held back by a limit."
        if held == 1
        else f" {held:,} applications are held back by limits."
    )


def _over_their_share(queues: Sequence[QueueView], size: int) -> list[list[tuple[int, str]]]:
    """For each type the leaves above their share, the largest excess first."""
    amounts: list[list[tuple[int, str]]] = []
    for place in range(size):
        over = [
            (queue.used[place] - queue.fair_share[place], queue.name)
            for queue in queues
            if queue.leaf and queue.used[place] > queue.fair_share[place] > 0
        ]
        amounts.append(sorted(over, key=lambda one: (-one[0], one[1])))
    return amounts
