"""Owns what a directory has for the Capacity Scheduler: its file, and the files that it names.

Opens files; what is included must stand in the directory too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairshare.config.problems import Place, Problems
from fairshare.config.site import Site
from fairshare.config.site_files import include_reader, read_site
from fairshare.families.capacity.names import CAPACITY_FILE, PREFIX
from fairshare.families.capacity.reading import SHIPPED

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
    was_read = len(found) > len(documents) and not _broken(path, problems)
    if was_read or f"{PREFIX}root.queues" in site:
        return site
    return site.with_values(SHIPPED, str(path))


def written_properties(
    directory: Path, stored: Mapping[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    """Names and values of capacity-scheduler.xml, variables and all; `stored` instead, if given.

    Problems of the file are reported by the reader of its meaning.
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
