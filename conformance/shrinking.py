"""The way from a scenario that differs to a small one that differs in the same way.

Everything that can be left out is tried: steps in halves, quarters and so on, then every element of
every list, mapping and XML file by itself, then every number that could be 1. Candidates go to the
oracle in batches, since starting it is what takes time.
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from conformance.oracle import Document

Path = tuple[Any, ...]
Edit = Mapping[Path, Any]
"""New values by the place where they stand in a document."""

GONE = object()
"""The value of what is left out."""

KEPT = ("name", "scheduler")

Judge = Callable[[Mapping[str, Document]], set[str]]
"""Which of some documents still differ in the way that is looked for, by name."""


def shrink(document: Document, judge: Judge, last_step: int | None = None) -> Document:
    """A document from which nothing more can be left out. `last_step`: where the difference is."""
    tree = _opened(document)
    if last_step is not None:
        tree["steps"] = tree["steps"][: last_step + 1]
    tree = _without_steps(tree, judge)
    while True:
        smaller = _round(_round(tree, _removals(tree), judge), None, judge)
        if smaller == tree:
            return _closed(tree)
        tree = _without_steps(smaller, judge)


def _without_steps(tree: Document, judge: Judge) -> Document:
    size = len(tree.get("steps", ()))
    while size:
        count = len(tree["steps"])
        chunks = [range(start, min(start + size, count)) for start in range(0, count, size)]
        edits = [{("steps", number): GONE for number in chunk} for chunk in chunks]
        tree = _round(tree, edits, judge)
        size //= 2
    return tree


def _round(tree: Document, edits: Sequence[Edit] | None, judge: Judge) -> Document:
    """Do as many of the edits as can be done together; None: those that make numbers smaller."""
    if edits is None:
        edits = [{path: 1} for path, value in _places(tree) if _is_large(value)]
    good = _good(tree, edits, judge)
    if len(good) < 2:
        return _edited(tree, good[0]) if good else tree
    together: list[Edit] = [{}]
    for edit in good:
        together.append({**together[-1], **edit})
    still = _good(tree, together[1:], judge)
    # Where Hadoop takes what a hash map has first, a second look may show no difference at all.
    smaller: Document = _edited(tree, still[-1]) if still else tree
    return smaller


def _good(tree: Document, edits: Sequence[Edit], judge: Judge) -> list[Edit]:
    if not edits:
        return []
    documents = {f"{n:05d}": _closed(_edited(tree, edit)) for n, edit in enumerate(edits)}
    found = judge(documents)
    return [edit for n, edit in enumerate(edits) if f"{n:05d}" in found]


def _removals(tree: Document) -> list[Edit]:
    return [{path: GONE} for path, _ in _places(tree) if path[0] not in KEPT and len(path) > 1]


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


def _places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a tree and where it stands, what is above before what is below."""
    if path:
        yield path, value
    if isinstance(value, dict):
        entries: Iterator[tuple[Any, Any]] = iter(value.items())
    elif isinstance(value, list):
        entries = iter(enumerate(value))
    else:
        return
    for key, inner in entries:
        yield from _places(inner, (*path, key))


def _edited(tree: Any, edit: Edit, path: Path = ()) -> Any:
    if isinstance(tree, dict):
        pairs = [(key, edit.get((*path, key), value), value) for key, value in tree.items()]
        return {
            key: _edited(old, edit, (*path, key)) if new is old else new
            for key, new, old in pairs
            if new is not GONE
        }
    if isinstance(tree, list):
        triples = [(n, edit.get((*path, n), value), value) for n, value in enumerate(tree)]
        return [
            _edited(old, edit, (*path, n)) if new is old else new
            for n, new, old in triples
            if new is not GONE
        ]
    return tree


# XML files stand in a document as text; while it is shrunk they are trees as well.


def _opened(document: Document) -> Document:
    opened = copy.deepcopy(document)
    for files in _files(opened):
        for name, text in files.items():
            if isinstance(text, str) and name.endswith(".xml"):
                try:
                    files[name] = {"<>": _tree(ElementTree.fromstring(text))}  # noqa: S314 (our own generator wrote it)
                except ElementTree.ParseError:
                    continue
    return opened


def _closed(tree: Document) -> Document:
    closed: Document = json.loads(json.dumps(tree))
    for files in _files(closed):
        for name, opened in files.items():
            if isinstance(opened, dict) and name.endswith(".xml"):
                inner = opened.get("<>")
                element = _element(inner) if inner else ElementTree.Element("allocations")
                ElementTree.indent(element)
                files[name] = ElementTree.tostring(element, encoding="unicode") + "\n"
    return closed


def _files(document: Document) -> Iterator[dict[str, Any]]:
    yield document.get("config", {})
    for step in document.get("steps", ()):
        for argument in step.values():
            if isinstance(argument, dict):
                yield argument


def _tree(element: ElementTree.Element) -> dict[str, Any]:
    return {
        "tag": element.tag,
        "attributes": dict(element.attrib),
        "text": (element.text or "").strip(),
        "inner": [_tree(child) for child in element],
    }


def _element(tree: Mapping[str, Any]) -> ElementTree.Element:
    element = ElementTree.Element(tree.get("tag", "none"), tree.get("attributes", {}))
    element.text = tree.get("text", "")
    element.extend(_element(child) for child in tree.get("inner", ()))
    return element
