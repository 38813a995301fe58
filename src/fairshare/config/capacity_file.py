"""Owns what a directory has for the Capacity Scheduler: its file, and the files that it names.

Opens files; what is included must stand in the directory too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairshare.config.capacity import CAPACITY_FILE, SHIPPED
from fairshare.config.capacity_names import PREFIX
from fairshare.config.capacity_rules import FileReader
from fairshare.config.problems import Place, Problems
from fairshare.config.site import Site
from fairshare.config.site_files import IncludeReader, read_site

MISSING_FILE = "capacity-file"
"""The rule of the warning that there is no capacity-scheduler.xml."""


def read_capacity_site(
    directory: Path,
    documents: Sequence[tuple[str, bytes]],
    problems: Problems,
    environment: Mapping[str, str],
) -> Site:
    """The properties of `documents`, and after them those of capacity-scheduler.xml.

    Without a file there is what Hadoop ships: one queue, root.default.
    """
    path = directory / CAPACITY_FILE
    found = [*documents]
    try:
        found.append((str(path), path.read_bytes()))
    except FileNotFoundError:
        problems.warning(
            Place(str(path)),
            MISSING_FILE,
            "there is no such file: there is one queue, root.default, which has everything",
            "starts with the file that it ships, or not at all",
        )
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
    site = read_site(found, problems, environment, include_reader(directory))
    told = len(found) > len(documents) and not _broken(path, problems)
    if told or f"{PREFIX}root.queues" in site:
        return site
    return site.with_values(SHIPPED, str(path))


def written_properties(
    directory: Path, stored: Mapping[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Names and values of capacity-scheduler.xml, variables and all; `stored` instead, if given.

    What is wrong with the file is told by who reads it for its meaning.
    """
    if stored is not None:
        return tuple(stored.items())
    path = directory / CAPACITY_FILE
    try:
        document = path.read_bytes()
    except OSError:
        return tuple(SHIPPED.items())
    site = read_site([(str(path), document)], Problems(), {}, include_reader(directory))
    return tuple((found.name, found.value) for found in site)


def _broken(path: Path, problems: Problems) -> bool:
    """Whether a file said so little that it makes no sense to ask for its queues."""
    return any(problem.file == str(path) for problem in problems.errors)


def include_reader(directory: Path) -> IncludeReader:
    """Reads included files of a directory, by a reference that counts from the including file."""

    def read(file: str, reference: str) -> tuple[str, bytes]:
        if not reference or "://" in reference:
            raise ValueError("only files of the configuration directory can be included")
        path = _inside(directory, Path(file).parent / reference)
        return str(path), path.read_bytes()

    return read


def file_reader(directory: Path) -> FileReader:
    """Reads files of a directory by a name that counts from it."""
    return lambda name: (directory / name).read_bytes()


def _inside(directory: Path, path: Path) -> Path:
    """The path, if it stays in the directory; raises ValueError."""
    if not path.resolve().is_relative_to(directory.resolve()):
        raise ValueError(f"it is not in {directory}: only files of the directory can be included")
    return path
