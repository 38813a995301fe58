"""The interpretation of a queue's values: its entitlement, what it is owed, what it borrows, and
one sentence that says so.

Reads only the views of one instant; decides nothing. A queue's entitlement is `min(demand, fair
share)`; it is owed its entitlement minus its usage. What budgets withhold is demand, too, which the
demand of schedulers does not have.
"""

from collections.abc import Iterable, Mapping, Sequence

from fairshare.api.queues import ShareFields
from fairshare.core.model.resources import (
    MEMORY,
    Resource,
    ResourceTypes,
    add,
    positive,
    smallest,
    subtract,
)
from fairshare.core.schedulers.views import QueueView


class Share(ShareFields[Resource], frozen=True):
    """One queue compared with its share."""


class Shares:
    """The shares of all queues at one instant; `withheld` is what budgets withhold from each
    (`core/schedulers/past.py`)."""

    def __init__(
        self,
        queues: Sequence[QueueView],
        total: Resource,
        types: ResourceTypes,
        withheld: Mapping[str, Resource] = {},
    ) -> None:
        self._queues = {queue.name: queue for queue in queues}
        self._total = total
        self._types = types
        self._withheld = withheld
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
        borrower = self._borrower(queue, place) if owed[place] else None
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
        withheld = self._withheld.get(queue.name)
        return queue.demand if withheld is None else add(queue.demand, withheld)

    def _dominant(self, queue: QueueView, measured: tuple[int, ...]) -> int:
        """The index of the type of which the queue uses the largest fraction of the cluster; among
        equals, of which it is entitled to the largest fraction, and then, of which most is
        withheld."""
        demand = self._demand(queue)
        withheld = self._withheld.get(queue.name, (0,) * len(demand))

        def parts(place: int) -> tuple[float, float, float, int]:
            due = min(demand[place], queue.fair_share[place])
            all_of_it = self._total[place] or 1
            used = queue.used[place] / all_of_it
            return used, due / all_of_it, withheld[place] / all_of_it, -place

        return max(measured, key=parts)

    def _borrower(self, queue: QueueView, place: int) -> str | None:
        others = self.over(place, queue.name)
        return others[0][0] if others else None

    def _sentence(self, queue: QueueView, state: str, place: int, borrower: str | None) -> str:
        name = self._types.names[place]
        lines = queue.used, queue.fair_share, queue.demand, self._withheld.get(queue.name)
        used, fair, demand, withheld = (0 if line is None else line[place] for line in lines)
        if withheld and not demand:
            return f"A budget that is used up withholds all it asks for: {amount(withheld, name)}."
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
        if withheld:
            text += f" A budget that is used up withholds {amount(withheld, name)} it asks for."
        return text + _held_back(queue)

    def _owed_sentence(self, queue: QueueView, place: int, borrower: str | None) -> str:
        name = self._types.names[place]
        used = queue.used[place]
        entitled = min(self._demand(queue)[place], queue.fair_share[place])
        lacking = entitled - used
        text = (
            f"Receives {amount(used, name)} of the {amount(entitled, name)} it is entitled to; "
            f"{amount(lacking, name)} {'is' if lacking == 1 else 'are'} owed."
        )
        free = self._total[place] - self._queues_root_used(place)
        if borrower is not None:
            over = next(found for found, whose in self._over[place] if whose == borrower)
            text += f" {borrower} has {amount(over, name)} beyond its own share."
        elif free > 0:
            text += (
                f" {amount(free, name)} of the cluster are free, but not in a place, a size or "
                "within a limit that would serve it."
            )
        return text

    def _queues_root_used(self, place: int) -> int:
        root = next(iter(self._queues.values()), None)
        return 0 if root is None else root.used[place]


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
