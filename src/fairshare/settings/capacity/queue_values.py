"""The values of properties of a queue, or of a template for queues: from text, by their type.

What is wrong in a value is reported at its place, and read as absent. Knows nothing of the tree of
queues and of what is inherited (Hadoop: CapacitySchedulerConfiguration).
"""

from collections.abc import Callable, Collection
from typing import Final, Literal, TypeVar

from fairshare.core.model.queues import LONGEST_NAME, ROOT
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.capacity.settings import (
    PARENT_POLICIES,
    Capacity,
    Percentage,
    PriorityRule,
)
from fairshare.documents import literals
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.settings.capacity.names import Scope
from fairshare.settings.capacity.text import (
    read_capacity_text,
    read_largest_container,
    read_maximum_text,
    read_priority_rules,
)
from fairshare.settings.site import Site

RULE: Final = "property-value"

Kind = Literal["leaf", "parent", "either", "maker"]
"""As what a queue is read: `either`: a template's settings may be of both; `maker`: as the parent
of a queue that is made."""

_T = TypeVar("_T")

_PACKAGE: Final = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy."
_LEAF_POLICIES: Final = {
    "fifo": "FifoOrderingPolicy",
    "fair": "FairOrderingPolicy",
    "fifo-with-partitions": "FifoOrderingPolicyWithExclusivePartitions",
    "fifo-for-pending-apps": "FifoOrderingPolicyForPendingApps",
}


class QueueValues:
    """Reads the values of one scope, root's until `at` gives another; methods take full names.

    `kind` says which ordering policies the scope may have.
    """

    STATES: Final = ("RUNNING", "STOPPED")

    def __init__(
        self,
        site: Site,
        types: ResourceTypes,
        problems: Problems,
        *,
        legacy: bool = True,
        maximum_priority: int = 0,
    ) -> None:
        self._site = site
        self._types = types
        self._problems = problems
        self._legacy = legacy
        self._maximum_priority = maximum_priority
        self._forgives = False
        self.scope = Scope(ROOT, "", "")
        self.kind: Kind = "either"

    def at(self, scope: Scope, kind: Kind = "either") -> "QueueValues":
        """The values of another scope."""
        values = self._copy()
        values.scope, values.kind = scope, kind
        return values

    def forgiving(self) -> "QueueValues":
        """Values that Hadoop does not look at when it starts: a wrong one is reported."""
        values = self._copy()
        values._forgives = True
        return values

    def aside(self, problems: Problems) -> "QueueValues":
        """The same values, with other problems."""
        values = self._copy()
        values._problems = problems
        return values

    def report_unusable(self, problem: Problem) -> None:
        """What Hadoop finds out when it creates a queue."""
        self._problems.trap(
            Place(problem.file, problem.line, problem.column),
            RULE,
            f"{problem.message}: applications that need a queue created with it are refused",
            "starts, and ends when it creates the queue",
        )

    def text(self, name: str) -> str | None:
        """A text as it is written."""
        return self._site.text(name, self._problems)

    def trimmed(self, name: str) -> str | None:
        """A text without blanks around it."""
        text = self.text(name)
        return None if text is None else literals.trim(text)

    def integer(self, name: str) -> int | None:
        """A whole number of 32 bits."""
        return self._read(name, lambda text: literals.property_integer(text, 32))

    def exact_integer(self, name: str) -> int | None:
        """A whole number of 32 bits, in decimal digits and without blanks."""
        return self._read(name, literals.exact_integer)

    def long(self, name: str) -> int | None:
        """A whole number of 64 bits."""
        return self._read(name, lambda text: literals.property_integer(text, 64))

    def single(self, name: str) -> float | None:
        """A number, rounded to 32 bits."""
        return self._read(name, literals.single)

    def boolean(self, name: str, default: bool = False) -> bool | None:
        """True or false; of any other word the default."""
        return self._site.boolean(name, default, self._problems) if name in self._site else None

    def strings(self, name: str) -> tuple[str, ...] | None:
        """A list divided by commas."""
        return self._site.between_commas(name, self._problems) if name in self._site else None

    def children(self, name: str) -> tuple[str, ...] | None:
        """The short names of the queues right below; None if the file has no list."""
        if name not in self._site:
            return None
        names: dict[str, None] = {}
        for child in self._site.between_commas(name, self._problems):
            if child in names:
                self._refuse(
                    name,
                    f"{child!r} is given twice, but names must differ",
                    "makes two queues of that name, of which it reaches one, and counts both in"
                    " sums and shares",
                )
            elif "." in child:
                self._refuse(
                    name,
                    f"{child!r} has a period, which divides names of queues",
                    f"makes a queue {self.scope.path}.{child} right below {self.scope.path}",
                )
            elif len(self.scope.path) + len(child) >= LONGEST_NAME:
                self._refuse(
                    name,
                    f"{child[:50]!r} and the queues above have more than the {LONGEST_NAME}"
                    " characters that a full name may have",
                    "takes names of any length",
                )
            else:
                names[child] = None
        self._look_for_blanks(name, names)
        return tuple(names)

    def _look_for_blanks(self, name: str, found: Collection[str]) -> None:
        """A part that is only blank, as behind the last comma of `a,b, `."""
        parts = [part for part in (self.text(name) or "").split(",") if part]
        if all(map(literals.trim, parts)):
            return
        nameless = f"makes a queue without a name below {self.scope.path}"
        if found:
            message = f"{name}: a part of the list is blank, and is passed over"
            hadoop = f"{nameless}, with no capacity, which is in the way of no other"
            self._problems.trap(self._site.place(name), RULE, message, hadoop)
        else:
            hadoop = f"{nameless}, and does not start where percentages must sum up to 100"
            self._refuse(name, "the list is blank: leave it out for a leaf queue", hadoop)

    def state(self, name: str) -> str | None:
        """A state, in capitals."""
        text = self.text(name)
        if text is None:
            return None
        if text.upper() in self.STATES:
            return text.upper()
        self._refuse(name, f"{text!r} is not a state that can be set: {' or '.join(self.STATES)}")
        return None

    def capacity(self, name: str) -> Capacity | None:
        """A capacity. Root has all there is: what the file says of root's is not even looked at."""
        if not self._is_root:
            return self._capacity(name)
        text = self.text(name)
        if text is not None and literals.trim(text) not in ("100", "100.0"):
            self._problems.trap(
                self._site.place(name),
                RULE,
                f"{name}: {text!r} has no effect, root always has 100 percent",
                "takes 100 without a word",
            )
        return None if text is None else Percentage(100.0)

    def maximum(self, name: str) -> Capacity | None:
        """A maximum capacity."""
        skipped = self._skipped(name)
        return self._read(
            name, lambda text: read_maximum_text(text, self._types, skipped, legacy=self._legacy)
        )

    def label_capacity(self, name: str) -> Capacity | None:
        """A capacity of a label. Root has all nodes of every label, whatever the file says."""
        if self._is_root:
            self.text(name)
            return Percentage(100.0)
        return self._capacity(name)

    def label_maximum(self, name: str) -> Capacity | None:
        """A maximum of a label: unlike the queue's, -1 is not taken for 100."""
        if self._is_root:
            return self.label_capacity(name)
        maximum = self.maximum(name)
        text = self.text(name)
        if isinstance(maximum, Percentage) and text is not None and "[" not in text:
            percent = literals.single(text)
            if not 0 <= percent <= 100:
                message = f"Illegal capacity of {percent:g}: it must be 0 to 100 percent"
                self._refuse(name, message)
        return maximum

    def largest_container(self, name: str) -> dict[str, int] | None:
        """Amounts by resource type."""
        skipped = self._skipped(name)
        return self._read(name, lambda text: read_largest_container(text, self._types, skipped))

    def ordering_policy(self, name: str) -> str | None:
        """The keyword of an ordering policy that suits the kind of queue."""
        if name not in self._site:
            return None
        written = self._site.string(name, "", self._problems)
        for word, java in _LEAF_POLICIES.items():
            if written in (word, _PACKAGE + java) and self.kind != "parent":
                return word
        if written in PARENT_POLICIES and self.kind != "leaf":
            return written
        what, known = {
            "leaf": ("a leaf queue", (*_LEAF_POLICIES,)),
            "parent": ("a parent queue", PARENT_POLICIES),
        }.get(self.kind, ("a queue", (*_LEAF_POLICIES, *PARENT_POLICIES)))
        self._refuse(
            name,
            f"Unable to construct the ordering policy {written!r}:"
            f" {what} has one of {', '.join(known)}",
        )
        return None

    def priority_rules(self, name: str) -> tuple[PriorityRule, ...] | None:
        """The priorities that users and groups may choose."""
        found = self._read(name, lambda text: read_priority_rules(text, self._maximum_priority))
        if found is None:
            return None
        rules, lowered = found
        if lowered:
            self._problems.warning(
                self._site.place(name),
                RULE,
                f"{name}: a max_priority above yarn.cluster.max-application-priority"
                f" ({self._maximum_priority}) counts as that",
                "lowers it and warns",
            )
        return rules or None

    def accessible_labels(self, name: str) -> tuple[str, ...] | None:
        """The labels of a queue; root has all."""
        labels = self.strings(name)
        if labels is not None and self._is_root:
            return ("*",)
        return ("*",) if labels and "*" in labels else labels

    def _copy(self) -> "QueueValues":
        made = object.__new__(QueueValues)  # copy.copy takes several times as long
        made.__dict__.update(self.__dict__)
        return made

    @property
    def _is_root(self) -> bool:
        return self.scope.path == ROOT and not self.scope.template

    def _capacity(self, name: str) -> Capacity | None:
        skipped = self._skipped(name)
        return self._read(
            name, lambda text: read_capacity_text(text, self._types, skipped, legacy=self._legacy)
        )

    def _read(self, name: str, read: Callable[[str], _T]) -> _T | None:
        """A value that `read` makes of the text; None if absent or wrong (reported)."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return read(text)
        except ValueError as error:
            self._refuse(name, str(error))
            return None

    def _refuse(self, name: str, message: str, hadoop: str = "does not start") -> None:
        place = self._site.place(name)
        if self._forgives:
            message = f"{name}: {message}: the default holds"
            self._problems.trap(place, RULE, message, "starts, and looks at it later or never")
        else:
            self._problems.error(place, RULE, f"{name}: {message}", hadoop)

    def _skipped(self, name: str) -> Callable[[str], None]:
        def report(message: str) -> None:
            place = self._site.place(name)
            self._problems.trap(place, RULE, f"{name}: {message}", "goes on without a word")

        return report
