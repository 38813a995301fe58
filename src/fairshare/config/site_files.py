"""Owns Hadoop's `<configuration>` files, and how several are merged into one Site.

Knows no property by name.
"""

from collections.abc import Iterable, Iterator, Mapping

from fairshare.config.problems import Problems
from fairshare.config.site import Property, Site
from fairshare.config.xml import Element, parse

_IGNORED = frozenset({"description", "source", "tag"})


def read_site(
    documents: Iterable[tuple[str, str | bytes]],
    problems: Problems,
    environment: Mapping[str, str] | None = None,
) -> Site:
    """Merge `<configuration>` files, each a (name, text); a later one wins, unless `final`."""
    properties: dict[str, Property] = {}
    for file, document in documents:
        root = parse(document, file, problems)
        if root is None:
            continue
        if root.name != "configuration":
            problems.error(
                root.place,
                "configuration",
                f"the top element is <{root.name}>, it must be <configuration>",
                "does not start",
            )
            continue
        for found in _properties(root, problems):
            earlier = properties.get(found.name)
            if earlier is not None and earlier.final:
                problems.warning(
                    found.place,
                    "final",
                    f"{found.name} is final in {earlier.place.file}:{earlier.place.line}:"
                    " this value has no effect",
                    "ignores this value",
                )
                continue
            if earlier is not None and earlier.place.file == file and earlier.value != found.value:
                problems.warning(
                    found.place,
                    "repeated-property",
                    f"{found.name} is set again: the value of line {earlier.place.line}"
                    " has no effect",
                    "takes the last value",
                )
            properties[found.name] = found
    return Site(properties, environment)


def _properties(configuration: Element, problems: Problems) -> Iterator[Property]:
    for child in configuration.children:
        if child.name == "property":
            found = _property(child, problems)
            if found is not None:
                yield found
        elif child.name == "configuration":
            yield from _properties(child, problems)
        elif child.name.rpartition(":")[2] == "include":
            problems.error(
                child.place,
                "include",
                f"<{child.name}> is not supported: copy the properties of"
                f" {child.attributes.get('href', 'the other file')!r} into this file",
                "reads the other file",
            )
        else:
            problems.warning(
                child.place, "unknown-element", f"<{child.name}> is unknown here", "ignores it"
            )


def _property(element: Element, problems: Problems) -> Property | None:
    """A `<property>`; its parts are child elements, or attributes as Hadoop 3 also reads them."""
    attributes = element.attributes
    name, value = attributes.get("name"), attributes.get("value")
    final = attributes.get("final")
    place = element.place
    for child in element.children:
        if child.name == "name":
            name = child.trimmed
        elif child.name == "value":
            value, place = child.text, child.text_place
        elif child.name == "final":
            final = child.trimmed
        elif child.name not in _IGNORED:
            problems.warning(
                child.place, "unknown-element", f"<{child.name}> is unknown here", "ignores it"
            )
    if not name:
        problems.warning(
            element.place, "property", "a property without <name> has no effect", "ignores it"
        )
        return None
    if not value:
        return None  # as in Hadoop: an empty value is none
    return Property(name, value, place, (final or "").lower() == "true")
