"""What becomes of maxResources and queueMaxResourcesDefault: `maximum-capacity` and `state`.

A percentage bounds all types alike and counts from the parent's maximum: 30 % of the cluster below
a parent with 60 % is 50. Amounts for each type need the mode absolute or vectors (Hadoop:
ConfigurableResource; `yarn.scheduler.capacity.<queue>.maximum-capacity`).
"""

from fairshare.core.model.resources import UNBOUNDED, Resource, largest, smallest
from fairshare.core.schedulers.fair.settings import Amount
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.texts import (
    amount_text,
    percent_text,
    type_key,
    vector_text,
)
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree

_Part = float | int | None
"""A type's bound: a part of the cluster, an amount, or none."""


class Maximums:
    """Writes the maximums of all queues, from root down.

    `guarantees` are the queues' own shares in the mode absolute, below which no maximum can be.
    """

    def __init__(
        self,
        source: Source,
        options: Options,
        dominant: bool,
        guarantees: dict[str, Resource],
        draft: Draft,
    ) -> None:
        self._source = source
        self._options = options
        self._dominant = dominant
        self._guarantees = guarantees
        self._draft = draft
        self._types = source.settings.types

    def convert(self, tree: Tree) -> None:
        """Write them, and say what became of each."""
        for queue in tree.root.below():
            if self._closed(queue):
                self._close(queue)
        match self._options.mode:
            case "absolute":
                assert self._options.cluster is not None
                self._absolute(tree.root, self._options.cluster)
            case "vectors":
                self._vectors(tree.root, tuple(1.0 for _ in self._types.names))
            case _:
                self._percentages(tree.root, 1.0, 1.0)

    def template(self, parent: Queue) -> str | None:
        """The maximum of queues made below a parent on demand, as text; None: they have none, or
        none that can be written. Says what became of maxChildResources."""
        maximum = parent.own.max_child_share
        amount = maximum or self._source.settings.allocations.queue_max_share_default
        if amount is None or self._options.mode in ("absolute", "vectors"):
            text = None
        else:
            bound, _ = self._bound(self._parts(amount, None))
            text = None if bound is None or bound >= 1 else percent_text(bound)
        if maximum is not None:
            self._note_child_maximum(parent, maximum, text)
        return text

    # What is written.

    def _written(self, queue: Queue) -> tuple[Amount | None, str]:
        """The maximum that holds for a queue, and the element that it comes from."""
        if queue.own.max_share is not None:
            return queue.own.max_share, "maxResources"
        default = self._source.settings.allocations.queue_max_share_default
        return default, "queueMaxResourcesDefault"

    def _parts(self, amount: Amount, minimum: Resource | None) -> list[_Part]:
        """The bounds by type; parts of the cluster, where its size is known."""
        cluster = self._options.cluster
        if amount.fractions is not None and cluster is None:
            return [min(fraction, 1.0) for fraction in amount.fractions]
        absolute = amount.resolve(cluster or ())
        if minimum is not None:
            # a minimum above the maximum wins (Hadoop: FSQueue.getMaxShare)
            absolute = largest(absolute, minimum)
        parts: list[_Part] = []
        for position, bound in enumerate(absolute):
            if bound >= UNBOUNDED:
                parts.append(None)
            elif cluster is None:
                parts.append(bound)
            else:
                parts.append(min(1.0, bound / cluster[position]) if cluster[position] else 1.0)
        return parts

    def _bound(self, parts: list[_Part]) -> tuple[float | None, bool]:
        """The one part of the cluster for all types, and whether it is exact. None: the
        cluster's size is not known."""
        counted = parts if self._dominant else parts[:1]
        if any(isinstance(part, int) for part in counted):
            return None, False
        bound = max(1.0 if part is None else float(part) for part in counted)
        exact = all((1.0 if part is None else part) == bound for part in parts)
        return bound, exact

    # Queues in which nothing can run.

    def _closed(self, queue: Queue) -> bool:
        amount, _ = self._written(queue)
        if amount is None:
            return False
        bounds: tuple[float, ...] = amount.fractions or amount.absolute or ()
        minimum = queue.own.min_share or self._types.none
        first_two = list(zip(bounds, minimum, strict=True))[:2]
        return any(bound == 0 and not low for bound, low in first_two)

    def _close(self, queue: Queue) -> None:
        if queue.parent is None:
            became, why = "", "root cannot be closed: its queues are left open"
            outcome: Outcome = "lost"
        else:
            became = self._draft.set_queue(queue.path, "state", "STOPPED")
            outcome = "changed"
            why = (
                "nothing can run in it: applications are refused. Before, only those were whose"
                " masters could not run; others waited for ever"
            )
        self._note(queue, outcome, became, why)

    # The modes.

    def _percentages(self, queue: Queue, bound: float, reach: float) -> None:
        """`bound` is what holds for the queue above in the Fair Scheduler, `reach` its maximum as
        it was written, both as parts of the cluster."""
        amount, _ = self._written(queue)
        own: float | None = 1.0
        exact = True
        if amount is not None and not self._closed(queue):
            own, exact = self._bound(self._parts(amount, queue.own.min_share))
        now = min(bound, 1.0 if own is None else own)
        if queue.parent is None:
            became = "maximum-capacity of each queue below" if now < 1 else ""
        elif now < reach:
            text = percent_text(now / reach if reach else 0.0)
            became = self._draft.set_queue(queue.path, "maximum-capacity", text)
            reach = now
        else:
            became = ""
        if amount is not None and not self._closed(queue):
            self._note_percentage(queue, own, exact, now, became)
        for child in queue.children:
            self._percentages(child, now, reach)

    def _note_percentage(
        self, queue: Queue, own: float | None, exact: bool, now: float, became: str
    ) -> None:
        amount, _ = self._written(queue)
        outcome: Outcome = "kept"
        if own is None:
            outcome, became = "lost", ""
            why = (
                "an amount becomes a percentage only of a cluster of known size (--cluster);"
                " --mode vectors keeps it as it is, in Hadoop 3.4"
            )
        elif queue.parent is None and now < 1:
            outcome, why = "changed", "root always has everything: each queue below is bounded"
            why += " by it, but not their sum"
        elif not exact:
            outcome = "changed" if now < 1 else "lost"
            counted = "the largest part counts" if self._dominant else "the part of memory counts"
            why = f"one percentage bounds all resource types: {counted}. --mode vectors keeps each"
        elif not became:
            why = "the queue above, or the cluster, is not larger"
        elif amount is not None and amount.absolute is not None:
            outcome = "changed"
            why = "a part of this cluster: it grows and shrinks with it"
        else:
            why = "counted from the maximum of the queue above"
        self._note(queue, outcome, became, why)

    def _absolute(self, queue: Queue, above: Resource) -> None:
        amount, _ = self._written(queue)
        now = above
        if amount is not None and not self._closed(queue):
            cluster = self._options.cluster or ()
            now = smallest(above, self._source.subject.maximum(queue.own))
            now = smallest(above, largest(now, self._guarantees[queue.name]))
            if now == cluster:
                self._note(queue, "kept", "", "the cluster is not larger")
            elif queue.parent is None:
                became = "maximum-capacity of each queue below"
                why = "root always has everything: each queue below is bounded by it, but not"
                self._note(queue, "changed", became, why + " their sum")
            else:
                outcome: Outcome = "kept" if amount.absolute is not None else "changed"
                why = "an amount for each type"
                if outcome == "changed":
                    why += ", as large as the part of this cluster is now"
                self._note(queue, outcome, f"maximum-capacity={self._vector(now)}", why)
        if queue.parent is not None and now != self._options.cluster:
            self._draft.set_queue(queue.path, "maximum-capacity", self._vector(now))
        for child in queue.children:
            self._absolute(child, now)

    def _vector(self, amounts: Resource) -> str:
        return vector_text(self._types, amounts)

    def _vectors(self, queue: Queue, above: tuple[_Part, ...]) -> None:
        """`above`: the parent's bound by type, as a part of the cluster; an amount where only that
        is known."""
        amount, _ = self._written(queue)
        now = above
        if amount is not None and not self._closed(queue):
            if queue.parent is None:
                self._note(queue, "lost", "", "root always has everything")
            else:
                now = self._vector_of(queue, amount, above)
        for child in queue.children:
            self._vectors(child, now)

    def _vector_of(
        self, queue: Queue, amount: Amount, above: tuple[_Part, ...]
    ) -> tuple[_Part, ...]:
        """Write one queue's maximum type by type; gives its bounds."""
        minimum = queue.own.min_share or self._types.none
        texts, now, outcome = [], [], "kept"
        for position, name in enumerate(self._types.names):
            part = above[position]
            if amount.fractions is not None:
                fraction = min(amount.fractions[position], 1.0)
                own: _Part = fraction
                if isinstance(part, float):
                    own = min(fraction, part)
                    text = f"{percent_text(own / part if part else 0)}%"
                else:
                    text, outcome = f"{percent_text(fraction)}%", "changed"
            else:
                bound = max((amount.absolute or ())[position], minimum[position])
                if isinstance(part, int):
                    bound = min(bound, part)  # above the queue above it would be refused
                own = part if bound >= UNBOUNDED else bound
                text = "100%" if bound >= UNBOUNDED else str(bound)
            texts.append(f"{type_key(name)}={text}")
            now.append(own)
        became = self._draft.set_queue(queue.path, "maximum-capacity", f"[{','.join(texts)}]")
        none = [name for name, bound in zip(self._types.names, now, strict=True) if bound == 0]
        if none:
            why = f"a 0 means no bound there: of {', '.join(none)} it may have all"
            self._note(queue, "lost", became, why)
        elif outcome == "kept":
            self._note(queue, "kept", became, "each type has its own maximum")
        else:
            why = "a part of the queue above, which has amounts, and no longer of the cluster"
            self._note(queue, "changed", became, why)
        return tuple(now)

    # Findings.

    def _note(self, queue: Queue, outcome: Outcome, became: str, why: str) -> None:
        amount, element = self._written(queue)
        assert amount is not None
        tag = "" if element == "queueMaxResourcesDefault" else queue.name
        self._draft.note(
            queue.name,
            "maximum",
            element,
            amount_text(self._types, amount),
            outcome,
            became,
            why,
            self._source.place(tag, element),
        )

    def _note_child_maximum(self, parent: Queue, own: Amount, text: str | None) -> None:
        became = f"auto-queue-creation-v2.leaf-template.maximum-capacity={text}" if text else ""
        if not parent.makes_queues:
            outcome: Outcome = "lost"
            why, became = "no rule makes queues below this one", ""
        elif text:
            outcome, why = "changed", "a percentage of this queue's maximum, for all types alike"
        else:
            outcome = "lost"
            why = "a template takes a percentage, which needs --cluster, and a mode that has one"
        self._draft.note(
            parent.name,
            "child-maximum",
            "maxChildResources",
            amount_text(self._types, own),
            outcome,
            became,
            why,
            self._source.place(parent.name, "maxChildResources"),
        )
