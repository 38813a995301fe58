"""Owns the division of a leaf queue's fair share among its runnable applications.

Applications of equal weight have equal shares, so that a division costs as much as there are
weights, and thousands of applications get a new share without being visited. Does not know queues.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from fairshare.core.model.resources import UNBOUNDED, Resource
from fairshare.core.schedulers.shares import FEW, Claim, shares_of_kinds

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.attempts import FairAttempt


class Division:
    """The shares by weight, as of the last update.

    `weights` counts the runnable applications of each weight. `newcomers` are those of them that
    the last update did not see, or saw with another weight: each has a share of its own until the
    next one. `types` is the number of resource types that are divided, which are the first ones.
    """

    __slots__ = ("newcomers", "shares", "types", "weights")

    def __init__(self, runnable: Iterable["FairAttempt"] = ()) -> None:
        self.weights: dict[float, int] = {}
        self.shares: dict[float, Resource] = {}
        self.newcomers: dict[int, FairAttempt] = {}
        self.types = 0
        for attempt in runnable:
            self.join(attempt)

    def join(self, attempt: "FairAttempt") -> None:
        """Count an application that has become runnable."""
        self._count(attempt.weight, 1)
        self.newcomers[attempt.id] = attempt

    def leave(self, attempt: "FairAttempt") -> None:
        """Count an application no longer; it keeps the share that it has."""
        self._count(attempt.weight, -1)
        self.newcomers.pop(attempt.id, None)
        _keep(attempt)

    def weigh(self, attempt: "FairAttempt", weight: float) -> None:
        """Change the weight of an application that is counted; until the next division it keeps
        the share that it has."""
        if weight == attempt.weight:
            return
        self._set_apart(attempt)
        self._count(attempt.weight, -1)
        self._count(weight, 1)
        attempt.weight = weight

    def divide(self, whole: Resource, types: int, attempts: Iterable["FairAttempt"]) -> None:
        """Divide the first `types` amounts of a share among those that are counted: all runnable
        ones of `attempts`. Of the other types each keeps what it has.

        >>> division = Division()
        >>> division.weights = {1.0: 2, 2.0: 1}
        >>> division.divide((1000, 8), 2, ())
        >>> division.shares
        {1.0: (250, 2), 2.0: (500, 4)}
        """
        if types != self.types:
            self.types = types
            for attempt in attempts:
                self._set_apart(attempt)
        if not types:
            return
        counts = tuple(self.weights.items())
        by_weight = _kept_shares if len(counts) <= FEW else _shares_by_weight
        of_types = [by_weight(whole[index], counts) for index in range(types)]
        self.shares = {weight: tuple([of[weight] for of in of_types]) for weight, _ in counts}
        for attempt in self.newcomers.values():
            attempt.divided = True
        self.newcomers.clear()

    def _set_apart(self, attempt: "FairAttempt") -> None:
        if attempt.divided:
            _keep(attempt)
            self.newcomers[attempt.id] = attempt

    def _count(self, weight: float, change: int) -> None:
        count = self.weights.get(weight, 0) + change
        if count:
            self.weights[weight] = count
        else:
            del self.weights[weight]


def _keep(attempt: "FairAttempt") -> None:
    attempt.own_share = attempt.fair_share
    attempt.divided = False


def _shares_by_weight(total: int, counts: tuple[tuple[float, int], ...]) -> dict[float, int]:
    """What an application of each weight gets, of so many with each."""
    kinds = {Claim(weight, 0, UNBOUNDED): count for weight, count in counts}
    return {claim.weight: share for claim, share in shares_of_kinds(total, kinds).items()}


_kept_shares = lru_cache(maxsize=4_096)(_shares_by_weight)
