"""Owns the text of a failed assertion: the differences, and a table of all queues."""

import difflib
from collections.abc import Callable, Iterable, Mapping

from fairshare.model.resources import Resource, ResourceTypes
from fairshare.schedulers.views import QueueView
from fairshare.wording import counted

_TITLES = ("queue", "share", "used", "demand", "running", "held back")


def differences(found: Mapping[str, int], wanted: Mapping[str, int], within: float) -> list[str]:
    """A line for each amount that differs by more than the tolerance `within`.

    >>> differences({"memory-mb": 4096, "vcores": 4}, {"memory-mb": 4000, "vcores": 4}, 0.0)
    ['memory-mb: expected 4000, found 4096 (96 more)']
    >>> differences({"memory-mb": 4096}, {"memory-mb": 4000}, 0.03)
    []
    """
    lines = []
    for name, amount in wanted.items():
        more = found[name] - amount
        if abs(more) > within * amount:
            words = f"{abs(more)} {'more' if more > 0 else 'less'}"
            lines.append(f"{name}: expected {amount}, found {found[name]} ({words})")
    return lines


def picture(
    views: Iterable[QueueView], types: ResourceTypes, share: Callable[[QueueView], Resource]
) -> str:
    """A table of all queues, one per line."""
    rows: list[tuple[str, ...]] = [_TITLES]
    for view in views:
        amounts = (share(view), view.used, view.demand)
        counts = (view.running_applications, view.pending_applications)
        rows.append((view.name, *(_amounts(a, types) for a in amounts), *map(str, counts)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def _amounts(amounts: Resource, types: ResourceTypes) -> str:
    """`4096 MB, 4 vcores`, and further types with an amount other than 0."""
    memory, vcores, *_ = amounts
    named = list(types.mapping(amounts).items())[2:]
    more = "".join(f", {amount} {name}" for name, amount in named if amount)
    return f"{memory} MB, {counted(vcores, 'vcore')}{more}"


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name, with similar and known names.

    >>> unknown_name("queue", "root.mll", ["root", "root.ml"])
    "there is no queue 'root.mll'; did you mean 'root.ml'? There are: root, root.ml"
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    advice = f"; did you mean {near[0]!r}?" if near else "."
    return f"there is no {what} {name!r}{advice} There are: {', '.join(names)}"
