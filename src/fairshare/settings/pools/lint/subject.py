"""Owns what a rule about pools looks at: settings, the places they come from, the cluster if known.

Reports nothing itself and reads no file.
"""

from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.pools.settings import PoolsSettings
from fairshare.documents.problems import Place, Problems
from fairshare.documents.xml import Element, parse
from fairshare.settings.allocation import Texts


class PoolsSubject:
    """A configuration of the pool scheduler. `cluster` is what all nodes have; None: unknown."""

    def __init__(self, settings: PoolsSettings, texts: Texts, cluster: Resource | None) -> None:
        self.has_site = texts.has_site
        self.settings = settings
        self.allocations = settings.allocations
        self.site = texts.site
        self.cluster = cluster
        self._top = None
        if texts.document is not None:
            self._top = parse(texts.document, texts.file, Problems())
        self._elements: dict[str, Element] = {}
        if self._top is not None:
            self._collect(self._top, "")

    def _collect(self, holder: Element, parent: str) -> None:
        for child in holder.children:
            if child.name == "pool":
                name = child.attributes.get("name", "")
                full = f"{parent}.{name}" if parent else name
                self._elements[full] = child
                if self.settings.hierarchical:
                    self._collect(child, full)

    def pool_place(self, pool: str, *tags: str) -> Place:
        """Where a pool says one of these things; else where it begins; else the file."""
        element = self._elements.get(pool)
        return self.top_place(*tags) if element is None else _last(element, tags)

    def top_place(self, *tags: str) -> Place:
        """Where the file says one of these things for all pools; else where it begins."""
        return self.site.place() if self._top is None else _last(self._top, tags)


def _last(element: Element, tags: tuple[str, ...]) -> Place:
    found = [child for child in element.children if child.name in tags]
    return found[-1].text_place if found else element.place
