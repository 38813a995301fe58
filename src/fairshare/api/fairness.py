"""The records of what was used in the past, and of budgets."""

import msgspec


class PastUse(msgspec.Struct, frozen=True):
    """What a queue, or a user in a leaf queue, used on average in the past, the present counting
    most; `part` of what all its siblings used. `factor` is its share divided by the one without
    memory; None for users, and where the siblings have no weights."""

    queue: str
    user: str = ""
    average: dict[str, float] = {}
    part: float = 0.0
    factor: float | None = None
    half_life_s: int = 0


class Budget(msgspec.Struct, frozen=True):
    """A budget of a queue and all below it, of a user, or of a user there: hours of one unit of a
    resource type in the month that ends at `ends_ms`."""

    name: str
    queue: str = ""
    user: str = ""
    resource: str = ""
    hours: float = 0.0
    used_hours: float = 0.0
    left_hours: float = 0.0  # never below 0
    when_used_up: str = ""  # refuse, last
    ends_ms: int = 0


class Budgets(msgspec.Struct, frozen=True):
    """All budgets, in the order of the configuration, as of `at_ms`."""

    at_ms: int = 0
    budgets: tuple[Budget, ...] = ()
