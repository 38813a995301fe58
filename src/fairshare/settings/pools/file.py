"""The pools file of MapReduce's Fair Scheduler (Hadoop: PoolManager.reloadAllocs)."""

from collections.abc import Mapping
from typing import Any, Final

from fairshare.core.model.queues import LONGEST_NAME
from fairshare.core.schedulers.pools.settings import (
    SLOTS,
    Generation,
    PoolAllocation,
    PoolAllocations,
)
from fairshare.documents.problems import Problem, Problems
from fairshare.documents.xml import Element, parse_as
from fairshare.settings.pools.pool_settings import FILE_BY_NAME, POOL_BY_NAME, USER_BY_NAME
from fairshare.settings.setting import Setting

BAD_FILE: Final = "refuses the whole file"

NAMES: Final = frozenset({*FILE_BY_NAME, *POOL_BY_NAME, *USER_BY_NAME, "pool", "user"})
"""All elements of the file."""


def read_pools_file(
    document: str | bytes, file: str, generation: Generation, *, hierarchical: bool = False
) -> tuple[PoolAllocations, tuple[Problem, ...]]:
    """What a pools file says, and what there is to say about it (no errors).

    `file` is the name for problems. Raises ConfigurationError with all problems when it is bad.
    """
    problems = Problems()
    found = collect_pools_file(document, file, generation, problems, hierarchical=hierarchical)
    problems.raise_errors()
    return found, problems.all


def collect_pools_file(
    document: str | bytes,
    file: str,
    generation: Generation,
    problems: Problems,
    *,
    hierarchical: bool = False,
) -> PoolAllocations:
    """As `read_pools_file`, but errors are only added to the problems."""
    root = parse_as("allocations", document, file, problems, BAD_FILE)
    if root is None:
        return PoolAllocations()
    reader = _FileReader(generation, hierarchical, problems)
    top = [child for child in root.children if child.name not in ("pool", "user")]
    fields = reader.fields(top, FILE_BY_NAME, "<allocations>")
    for child in root.children:
        if child.name == "pool":
            reader.pool(child, "")
        elif child.name == "user":
            reader.user(child)
    pools = {name: reader.allocation(name) for name in reader.pools}
    return PoolAllocations(pools=pools, user_max_jobs=reader.users, **fields)


class _FileReader:
    """Collects pools and users; what is said again in a later element counts."""

    def __init__(self, generation: Generation, hierarchical: bool, problems: Problems) -> None:
        self.pools: dict[str, dict[str, Any]] = {}
        self.users: dict[str, int] = {}
        self._elements: dict[str, Element] = {}
        self._parents: dict[str, str] = {}
        self._generation = generation
        self._hierarchical = hierarchical
        self._problems = problems

    def pool(self, element: Element, parent: str) -> None:
        """A pool, and where pools may be nested those inside."""
        name = self._name(element, "pool")
        if self._hierarchical and (not name or "." in name):
            self._problems.error(
                element.place,
                "pool",
                f"the pool {name!r} needs a name without periods, where pools can be nested",
                "knows no nested pools",
            )
            return
        full = f"{parent}.{name}" if parent else name
        if len(full) > LONGEST_NAME:
            self._problems.error(
                element.place,
                "pool",
                f"the pool {full[:50]}... has a name of {len(full)} characters: {LONGEST_NAME} are"
                " the most here",
                "takes names of any length",
            )
            return
        self._elements[full], self._parents[full] = element, parent
        inner = [child for child in element.children if child.name == "pool"]
        rest = [child for child in element.children if child.name != "pool"]
        found = self.fields(rest, POOL_BY_NAME, f"<pool> {full}")
        self.pools.setdefault(full, {}).update(found)
        for child in inner:
            if self._hierarchical:
                self.pool(child, full)
            else:
                self._problems.warning(
                    child.place,
                    "nested-pool",
                    f"the pool inside the pool {full} has no effect: set hierarchical = true"
                    " below [pools] in fairshare.toml to nest pools",
                    "ignores it without a word",
                )

    def user(self, element: Element) -> None:
        """A user's limit."""
        name = self._name(element, "user")
        limit = self.fields(element.children, USER_BY_NAME, f"<user> {name}").get(
            "max_running_jobs"
        )
        if limit is not None:
            self.users[name] = limit

    def _name(self, element: Element, what: str) -> str:
        name = element.attributes.get("name")
        if name is None:
            self._problems.warning(
                element.place,
                what,
                f"a <{what}> without name counts for the {what} with the empty name",
                "takes the empty name",
            )
        return name or ""

    def fields(
        self, elements: list[Element], known: Mapping[str, Setting], inside: str
    ) -> dict[str, Any]:
        """The values of known elements; the last of two counts."""
        values: dict[str, Any] = {}
        for element in elements:
            setting = known.get(element.name)
            if setting is None or setting.since > self._generation:
                self._report(element, setting, inside, known)
                continue
            try:
                values[setting.field] = setting.read(element.text)
            except ValueError as error:
                self._problems.error(
                    element.text_place, element.name, f"<{element.name}>: {error}", BAD_FILE
                )
        return values

    def _report(
        self, element: Element, setting: Setting | None, inside: str, known: Mapping[str, Setting]
    ) -> None:
        names = ", ".join(name for name, one in known.items() if one.since <= self._generation)
        reason = f"it is unknown in {inside}, where there are {names}"
        if setting is not None:
            since = setting.since
            reason = f"the generation {self._generation} does not know it, only {since} does"
        self._problems.warning(
            element.place,
            "unknown-element",
            f"<{element.name}> has no effect: {reason}",
            "ignores it",
        )

    def allocation(self, name: str) -> PoolAllocation:
        """What the file says of a pool in all."""
        fields = dict(self.pools[name])
        least = fields.pop("min_maps", 0), fields.pop("min_reduces", 0)
        plain = PoolAllocation(name)
        most = (
            fields.pop("max_maps", plain.max_share[0]),
            fields.pop("max_reduces", plain.max_share[1]),
        )
        for slots, low, high in zip(SLOTS, least, most, strict=True):
            if high < low:
                self._problems.trap(
                    self._elements[name].place,
                    "maximum-below-minimum",
                    f"the pool {name} has a maximum of {high} {slots} below its minimum of {low}:"
                    " the maximum counts",
                    "warns, and the maximum counts",
                )
        return PoolAllocation(name, self._parents[name], least, most, **fields)
