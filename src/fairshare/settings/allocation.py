"""What schedulers with an XML file of queues have in common: where the file is, and how it is read,
watched and linted. YARN's Fair Scheduler and that of MapReduce both call it fair-scheduler.xml.
"""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from fairshare.core.model.resources import Resource
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.configuration import Configuration
from fairshare.settings.family import ReadSettings, SchedulerFamily, Source, Watched
from fairshare.settings.resource_types import cluster_of
from fairshare.settings.shell import ShellSettings
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_file

DEFAULT_ALLOCATION_FILE: Final = "fair-scheduler.xml"

_REMOTE: Final = frozenset({"hdfs", "s3a", "viewfs"})

Settings = TypeVar("Settings", bound=msgspec.Struct)


class Texts(msgspec.Struct, frozen=True):
    """What settings are read from: properties, the content of the file of queues, if there is one,
    with its name, and fairshare.toml. Without `has_site` the properties are unknown."""

    site: Site
    document: bytes | None = None
    file: str = ""
    shell: ShellSettings = ShellSettings()
    has_site: bool = True


class AllocationFileFamily(SchedulerFamily[Settings]):
    """A family whose queues are in an XML file of their own, and in the field `allocations` of its
    settings."""

    files = (DEFAULT_ALLOCATION_FILE,)

    allocation_key: ClassVar[str]
    """The property that names the file."""

    @abstractmethod
    def with_allocations(
        self, in_force: Settings, document: bytes, file: str
    ) -> tuple[Settings, tuple[Problem, ...]]:
        """The settings with what the file says now; raises ConfigurationError."""

    lone_file_shell: ClassVar[ShellSettings] = ShellSettings()
    """What lint takes for fairshare.toml where it judges such a file by itself."""

    @abstractmethod
    def collect(self, texts: Texts, problems: Problems) -> Settings:
        """The settings; errors are added to the problems."""

    @abstractmethod
    def apply_rules(
        self, settings: Settings, texts: Texts, cluster: Resource | None, problems: Problems
    ) -> None:
        """Add what the rules find."""

    def read(self, source: Source, problems: Problems) -> ReadSettings:
        path, document = find_allocation_file(
            source.directory, source.site, self.allocation_key, problems
        )
        name = str(path or source.directory / DEFAULT_ALLOCATION_FILE)
        texts = Texts(source.site, document, name, source.shell)
        return ReadSettings(self.collect(texts, problems), path)

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        path = configuration.allocation_path
        document = None if path is None else read_file(path, Problems())  # errors are known
        texts = Texts(configuration.site, document, str(path))
        self.apply_rules(self.settings_of(configuration), texts, cluster, problems)

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        self._lint(Texts(site), cluster, problems)

    def lint_elements(
        self, path: Path, document: bytes, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        texts = Texts(Site.of({}), document, str(path), self.lone_file_shell, has_site=False)
        self._lint(texts, cluster, problems)

    def _lint(self, texts: Texts, cluster: Mapping[str, int] | None, problems: Problems) -> None:
        settings: Any = self.collect(texts, problems)
        self.apply_rules(settings, texts, cluster_of(cluster, settings.types), problems)

    def lint_draft(
        self,
        text: str,
        file: str,
        configuration: Configuration,
        cluster: Resource | None,
        problems: Problems,
    ) -> None:
        texts = Texts(configuration.site, text.encode(), file, configuration.shell)
        self.apply_rules(self.collect(texts, problems), texts, cluster, problems)

    def watched(self, configuration: Configuration) -> Watched:
        """The file of queues, which is read again by itself."""
        path = configuration.allocation_path or configuration.directory / DEFAULT_ALLOCATION_FILE
        return Watched(path, "allocation file", alone=True)

    def edited_file(self, configuration: Configuration) -> Path | None:
        return self.watched(configuration).path

    def refreshed(
        self, started: Configuration, in_force: Settings, now: Configuration, problems: Problems
    ) -> Settings:
        """The settings in force with the new maximum, and the allocation file of the start as it is
        now.

        Another name for it needs a restart.
        """
        settings = super().refreshed(started, in_force, now, problems)
        path = started.allocation_path or now.allocation_path
        if path is None:
            return settings
        if path == now.allocation_path:
            return msgspec.structs.replace(settings, allocations=now.settings.allocations)
        return self.reread_file(path, settings)[0]

    def reread_file(self, path: Path, in_force: Settings) -> tuple[Settings, tuple[Problem, ...]]:
        try:
            document = path.read_bytes()
        except OSError as error:
            problems = Problems()
            problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
            raise ConfigurationError(problems.all) from error
        return self.with_allocations(in_force, document, str(path))


def find_allocation_file(
    directory: Path, site: Site, key: str, problems: Problems
) -> tuple[Path | None, bytes | None]:
    """The allocation file and its bytes, as Hadoop's AllocationFileLoaderService.getAllocationFile
    finds it."""
    written = site.string(key, DEFAULT_ALLOCATION_FILE, problems)
    place = site.place(key)
    address = urlsplit(written)
    scheme = address.scheme.lower()
    if scheme in _REMOTE:
        problems.error(
            place,
            "allocation-file",
            f"{written} is on a remote file system: copy it into {directory}",
            "reads it there",
        )
        return None, None
    if scheme not in ("", "file"):
        problems.error(
            place,
            "allocation-file",
            f"{written}: only local files can be read, not {scheme}",
            "does not start",
        )
        return None, None
    path = Path(unquote(address.path) if scheme else written)
    file = directory / path  # an absolute path stays as it is
    document = read_file(file, problems)
    if document is not None:
        return file, document
    if path.is_absolute():
        message = f"there is no allocation file {path}"
        if (directory / path.name).is_file():
            message += (
                f" on this machine. {path.name} is in this directory: to read that one, set"
                f" the property to {path.name}"
            )
        problems.error(place, "allocation-file", message, "does not start without it")
    else:
        problems.warning(
            Place(str(file)),
            "allocation-file",
            "there is no such file: all queues have their defaults, and only root exists",
            "warns and goes on without",
        )
    return None, None
