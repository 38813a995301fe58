"""The reading of what is converted: a configuration directory, or a lone allocation file."""

from pathlib import Path

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES, Resource
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.settings.capacity.family import CapacityFamily
from fairshare.settings.capacity.names import CAPACITY_FILE
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import SITE_FILES, collect_directory
from fairshare.settings.fair.family import FairFamily
from fairshare.settings.fair.lint.subject import Subject, find_elements
from fairshare.settings.fair.reading import collect_fair
from fairshare.settings.family import CLASS
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Site


class Source(msgspec.Struct, frozen=True):
    """A Fair Scheduler configuration with the places of its parts.

    `documents` are the other files of the directory by name, to go along unchanged where they may.
    `cluster` and `nodes` are what fairshare.toml says of them; None: nothing.
    """

    settings: FairSettings
    site: Site
    subject: Subject
    problems: tuple[Problem, ...]
    documents: dict[str, bytes]
    nodes: int | None = None
    cluster: Resource | None = None

    @property
    def scheduler(self) -> str:
        """The name of its family."""
        return FairFamily.name

    def place(self, queue: str, *tags: str) -> Place:
        """Where a queue says one of these things, or the file for all queues (queue empty)."""
        return self.subject.place(queue, *tags) if queue else self.subject.top_place(*tags)


def read_source(path: Path) -> Source:
    """Read what is to be converted; raises ConfigurationError with all that makes it unusable."""
    problems = Problems()
    source = _directory(path, problems) if path.is_dir() else _file(path, problems)
    problems.raise_errors()
    assert source is not None, "without one there is an error, which has been raised"
    return source


def _directory(path: Path, problems: Problems) -> Source | None:
    configuration = collect_directory(path, problems, scheduler=FairFamily.name)
    if configuration is None:
        return None
    if configuration.allocation_path is None:
        chosen = collect_directory(path, Problems())
        if chosen is not None and chosen.scheduler != FairFamily.name:
            _refuse_other(chosen, path, problems)
            return None
    fair, file = FairFamily().settings_of(configuration), configuration.allocation_path
    elements = None
    if file is not None:
        elements = find_elements(file.read_bytes(), str(file), fair.types)
    documents = {
        name: (path / name).read_bytes()
        for name in (*SITE_FILES, SHELL_FILE)
        if (path / name).is_file()
    }
    has_site = any(name in SITE_FILES for name in documents)
    engine = configuration.shell.engine
    cluster: Resource | None = None
    if engine.memory_mb and engine.vcores:
        node = {**engine.resources, MEMORY: engine.memory_mb, VCORES: engine.vcores}
        cluster = tuple(engine.nodes * node.get(name, 0) for name in fair.types.names)
    return Source(
        fair,
        configuration.site,
        Subject(fair, configuration.site, elements, cluster, has_site=has_site),
        problems.all,
        documents,
        engine.nodes if cluster else None,
        cluster,
    )


def _refuse_other(configuration: Configuration, path: Path, problems: Problems) -> None:
    """There is nothing of the Fair Scheduler here: an almost empty result would say nothing."""
    if configuration.scheduler != CapacityFamily.name:
        what = f"this configuration is for another scheduler ({configuration.scheduler})"
    elif CLASS in configuration.site or (path / CAPACITY_FILE).is_file():
        what = "this is a Capacity Scheduler configuration already"
    else:
        what = "there is no fair-scheduler.xml, and no property chooses the Fair Scheduler"
    problems.error(
        configuration.site.place(CLASS) if CLASS in configuration.site else Place(str(path)),
        "scheduler",
        f"{what}: there is nothing to convert. Name a directory whose yarn-site.xml chooses the"
        " Fair Scheduler, or its allocation file",
    )


def _file(path: Path, problems: Problems) -> Source | None:
    try:
        document = path.read_bytes()
    except OSError as error:
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
        return None
    name, site = str(path), Site.of({})
    fair = collect_fair(site, document, name, problems)
    elements = find_elements(document, name, fair.types)
    subject = Subject(fair, site, elements, None, has_site=False)
    return Source(fair, site, subject, problems.all, {})
