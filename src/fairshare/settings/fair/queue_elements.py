"""`<queue>` and `<pool>` of the allocation file (Hadoop: AllocationFileQueueParser): elements to
QueueSettings.
"""

from collections.abc import Iterable
from typing import Any, Final

from fairshare.core.model.queues import LONGEST_NAME, ROOT
from fairshare.core.model.resources import fits
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.documents.xml import Element
from fairshare.settings.fair.element_values import BAD_FILE, ElementValues
from fairshare.settings.fair.queue_settings import BY_NAME

# All white space of Unicode. `str.strip` without an argument takes U+001C to U+001F away, too.
NAME_BLANKS: Final = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680"
    + "".join(map(chr, range(0x2000, 0x200B)))
    + "\u2028\u2029\u202f\u205f\u3000"
)
"""What a queue's name must not begin or end with (Hadoop: FairSchedulerUtilities.trimQueueName)."""

_RESERVATION_ACLS: Final = frozenset(
    {"aclAdministerReservations", "aclListReservations", "aclSubmitReservations"}
)

_KNOWN: Final = (*BY_NAME, *_RESERVATION_ACLS, "reservation", "queue", "pool")

NAMES: Final = frozenset(_KNOWN)
"""The elements inside of a queue."""


def read_queues(
    elements: Iterable[Element], values: ElementValues
) -> tuple[dict[str, QueueSettings], dict[str, Element]]:
    """The settings of all queues by full name, in the order of the file, and their elements.

    A queue named root may wrap all others; then none may stand beside it
    (Hadoop: AllocationFileQueueParser).
    """
    top = list(elements)
    reader = _Queues(values)
    wrapper = next((e for e in top if e.attributes.get("name", "").lower() == ROOT), None)
    if wrapper is not None and len(top) > 1:
        other = next(element for element in top if element is not wrapper)
        values.problems.error(
            other.place,
            "queue-beside-root",
            "no queue may stand beside the queue root: move it into the root element"
            f" of line {wrapper.place.line}",
            BAD_FILE,
        )
    for element in top:
        if element is wrapper and element.attributes["name"] == ROOT:
            reader.read("", element)
        else:
            reader.read(ROOT, element)
    if wrapper is not None and wrapper.attributes["name"] != ROOT:
        reader.forget(wrapper)
    return reader.settings, reader.elements


class _Queues:
    def __init__(self, values: ElementValues) -> None:
        self.values = values
        self.problems = values.problems
        self.settings: dict[str, QueueSettings] = {}
        self.elements: dict[str, Element] = {}

    def read(self, parent: str, element: Element) -> None:
        """Read a queue, then the queues in it."""
        self.values.attributes(element, ("name", "type"))
        name = self.name(parent, element)
        fields: dict[str, Any] = {}
        seen: dict[str, Element] = {}
        nested = []
        for child in element.children:
            setting = BY_NAME.get(child.name)
            if setting is not None:
                if setting.field in seen:
                    self.values.repeated(child, seen[setting.field])
                seen[setting.field] = child
                fields[setting.field] = setting.read(self.values, child)
            elif child.name == "reservation":
                seen[child.name] = child
                fields["reservable"] = True
                self.unsupported(child, "only makes the queue a parent")
            elif child.name in _RESERVATION_ACLS:
                self.unsupported(child, "has no effect")
            elif child.name == "pool" or "queue".endswith(child.name):
                nested.append(child)
            else:
                self.values.unknown(child, _KNOWN, f"<{element.name}>")
        self.check_kind(name, element, seen, bool(nested))
        # None means that a value is bad (reported), or that it is dropped: the default holds.
        fields = {field: value for field, value in fields.items() if value is not None}
        parental = bool(nested) or "reservation" in seen or self.typed_parent(element)
        self.add(QueueSettings(name=name, parent=parental, **fields), element)
        for child in nested:
            if child.name not in ("queue", "pool"):
                self.problems.trap(
                    child.place,
                    "queue-suffix",
                    f"<{child.name}> counts as a nested <queue>",
                    "takes every ending of the word queue for a queue",
                )
            self.read(name, child)

    def add(self, settings: QueueSettings, element: Element) -> None:
        earlier = self.elements.get(settings.name)
        if earlier is not None:
            self.problems.error(
                element.place,
                "repeated-queue",
                f"two queues are named {settings.name}: the other one is in line"
                f" {earlier.place.line}",
                "mixes both, the last value of each setting wins",
            )
        self.settings[settings.name] = settings
        self.elements[settings.name] = element
        share, limit = settings.min_share, settings.max_share
        if share is None or limit is None or limit.absolute is None:
            return
        if not fits(share, limit.absolute):
            self.problems.trap(
                element.place,
                "minimum-above-maximum",
                f"minResources of {settings.name} is above its maxResources: the minimum counts",
                "lets the minimum win and warns each time",
            )

    def name(self, parent: str, element: Element) -> str:
        """The full name; a bad name is reported, and used to continue."""
        written = element.attributes.get("name", "")
        name = written.strip(NAME_BLANKS)
        if not name:
            self.problems.error(
                element.place, "queue-name", f"<{element.name}> needs a name", BAD_FILE
            )
        elif "." in name:
            self.problems.error(
                element.place,
                "queue-name",
                f"the queue name {name!r} must not contain a period: nest the queues instead",
                BAD_FILE,
            )
            name = name.replace(".", "_")
        full = f"{parent}.{name}" if parent else name
        if len(full) > LONGEST_NAME:
            self.problems.error(
                element.place,
                "queue-name",
                f"the queue {full[:50]}... has a full name of {len(full)} characters:"
                f" {LONGEST_NAME} are the most here",
                "takes names of any length",
            )
        return full[:LONGEST_NAME]

    def typed_parent(self, element: Element) -> bool:
        kind = element.attributes.get("type")
        if kind not in (None, "parent"):
            self.problems.warning(
                element.place,
                "queue-type",
                f"type={kind!r} has no effect: only type='parent' has one",
                "ignores it",
            )
        return kind == "parent"

    def check_kind(
        self, name: str, element: Element, seen: dict[str, Element], nested: bool
    ) -> None:
        """What a parent must not have (Hadoop: AllocationFileQueueParser)."""
        if not nested and element.attributes.get("type") != "parent":
            return
        if "reservation" in seen:
            self.problems.error(
                seen["reservation"].place,
                "reservation",
                f"{name} is a parent queue: it cannot also include a reservation element",
                BAD_FILE,
            )
        if "max_master_share" in seen:
            # Hadoop's own documentation has this in its example, so it must be readable.
            self.problems.trap(
                seen["max_master_share"].place,
                "maxAMShare",
                f"{name} is a parent queue: its maxAMShare has no effect",
                BAD_FILE + " (cannot also include a maxAMShare element)",
            )

    def unsupported(self, element: Element, effect: str) -> None:
        self.problems.warning(
            element.place,
            "unsupported",
            f"<{element.name}> {effect}: there is no reservation system",
            "keeps it for the reservation system",
        )

    def forget(self, wrapper: Element) -> None:
        """What Hadoop does with `<queue name="ROOT">`: the queues are made, the rest is lost."""
        written = wrapper.attributes["name"]
        self.problems.trap(
            wrapper.place,
            "root-name",
            f"name={written!r} makes a queue root.{written}, and what the file says of it and of"
            " the queues in it is lost: write name='root'",
            "looks the settings up under another name than they are filed",
        )
        for name, settings in self.settings.items():
            self.settings[name] = QueueSettings(name=name, parent=settings.parent)
