"""Hadoop's `<configuration>` files, and how several are merged into one Site."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from fairshare.documents.problems import Place, Problems
from fairshare.documents.xml import Element, parse, parse_as
from fairshare.settings.site import Property, Site

IncludeReader = Callable[[str, str], tuple[str, bytes]]
"""Of a file and the reference in it: the name and the bytes of the file that it includes. Raises
OSError, or ValueError with what is wrong with the reference."""

FileReader = Callable[[str], bytes]
"""Gives the bytes of a file that a property names; raises OSError."""

_IGNORED = frozenset({"description", "source", "tag"})
_DEEPEST: Final = 16
_LONGEST_NAME: Final = 2_000


def read_site(
    documents: Iterable[tuple[str, str | bytes]],
    problems: Problems,
    environment: Mapping[str, str] | None = None,
    include: IncludeReader | None = None,
    misplaced: Callable[[str, str], bool] | None = None,
) -> Site:
    """Merge `<configuration>` files, each a (name, text); a later one wins, unless `final`.

    Without `include` a file that includes another one is refused. `misplaced` says of a file and
    a property whether Hadoop does not read it from there.
    """
    properties: dict[str, Property] = {}
    elsewhere: dict[str, Property] = {}
    for file, document in documents:
        root = parse_as("configuration", document, file, problems, "does not start")
        if root is None:
            continue
        for property_ in _properties(root, problems, include, (file,)):
            if misplaced is not None and misplaced(Path(file).name, property_.name):
                elsewhere[property_.name] = property_
                continue
            earlier = properties.get(property_.name)
            if earlier is not None and earlier.final:
                report_final(property_.place, earlier, problems)
                continue
            if (
                earlier is not None
                and earlier.place.file == file
                and earlier.value != property_.value
            ):
                problems.warning(
                    property_.place,
                    "repeated-property",
                    f"{property_.name} is set again: the value of line {earlier.place.line}"
                    " has no effect",
                    "takes the last value",
                )
            properties[property_.name] = property_
    return Site(properties, environment, elsewhere)


def _properties(
    configuration: Element,
    problems: Problems,
    include: IncludeReader | None,
    files: tuple[str, ...],
) -> Iterator[Property]:
    """The properties of an element, those of included files at their place. `files` are the file
    that has it, and those that include it."""
    for child in configuration.children:
        if child.name == "property":
            found = _property(child, problems)
            if found is not None:
                yield found
        elif child.name == "configuration":
            yield from _properties(child, problems, include, files)
        elif child.name.rpartition(":")[2] == "include":
            yield from _included(child, problems, include, files)
        else:
            problems.warning(
                child.place, "unknown-element", f"<{child.name}> is unknown here", "ignores it"
            )


def _included(
    element: Element, problems: Problems, include: IncludeReader | None, files: tuple[str, ...]
) -> Iterator[Property]:
    """The properties of the file that an element includes, or of the element's fallback."""
    reference = element.attributes.get("href", "")
    if include is None:
        problems.error(
            element.place,
            "include",
            f"<{element.name}> is not supported: copy the properties of"
            f" {reference or 'the other file'!r} into this file",
            "reads the other file",
        )
        return
    try:
        file, document = include(files[-1], reference)
    except (OSError, ValueError) as error:
        fallbacks = [c for c in element.children if c.name.rpartition(":")[2] == "fallback"]
        for fallback in fallbacks:
            yield from _properties(fallback, problems, include, files)
        if not fallbacks:
            reason = getattr(error, "strerror", None) or error
            message = f"<{element.name}> of {reference!r} cannot be read: {reason}"
            problems.error(element.place, "include", message, "does not start")
        return
    if file in files or len(files) >= _DEEPEST:
        message = f"<{element.name}> of {reference!r}: files include each other"
        problems.error(element.place, "include", message, "does not start")
        return
    root = parse(document, file, problems)
    if root is not None:
        yield from _properties(root, problems, include, (*files, file))


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
    if len(name) > _LONGEST_NAME:
        problems.warning(
            element.place,
            "property",
            f"the property {name[:50]}... has a name of {len(name)} characters: no setting has, so"
            " that it has no effect",
            "ignores it",
        )
        return None
    if not value:
        return None  # as in Hadoop: an empty value is none
    return Property(name, value, place, (final or "").lower() == "true")


def read_file(path: Path, problems: Problems) -> bytes | None:
    """A file's bytes; None if there is no such file, or if it cannot be read, which is reported."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
        return None


def report_final(place: Place, earlier: Property, problems: Problems) -> None:
    """Report a value that has no effect, since an earlier one is final."""
    problems.warning(
        place,
        "final",
        f"{earlier.name} is final in {earlier.place.file}:{earlier.place.line}:"
        " this value has no effect",
        "ignores this value",
    )


def include_reader(directory: Path) -> IncludeReader:
    """Reads included files of a directory, by a reference that counts from the including file."""

    def read(file: str, reference: str) -> tuple[str, bytes]:
        if not reference or "://" in reference:
            raise ValueError("only files of the configuration directory can be included")
        path = Path(file).parent / reference
        if not path.resolve().is_relative_to(directory.resolve()):
            raise ValueError(
                f"it is not in {directory}: only files of the directory can be included"
            )
        return str(path), path.read_bytes()

    return read


def file_reader(directory: Path) -> FileReader:
    """Reads files of a directory by a name that counts from it."""
    return lambda name: (directory / name).read_bytes()
