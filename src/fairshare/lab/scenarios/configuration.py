"""A scenario's configuration files: their texts, when they were written, what they say.

They replace the directory that a server reads.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.problems import Problems
from fairshare.documents.toml_tree import read_toml
from fairshare.errors import FairshareError
from fairshare.settings.family import AnyFamily
from fairshare.settings.registry import section_types
from fairshare.settings.shell import FILE as OWN_FILE
from fairshare.settings.shell import read_tree, with_own_sections
from fairshare.settings.site_files import read_site

RELOAD_WAIT_MS: Final = 5000
"""A file that was written is read by the periodic check when it is older
(Hadoop: AllocationFileLoaderService)."""

YARN_FILE: Final = "yarn-site.xml"
SITE_FILES: Final = ("resource-types.xml", YARN_FILE, "mapred-site.xml")


class LoadedSettings(msgspec.Struct, frozen=True):
    """A scheduler's settings as the manager takes them.

    `update_interval_ms` 0: no updates. `preemption_interval_ms` is that of the monitors, 0: there
    is none; None: the scheduler has no monitor, and kills what it marked when that is due.
    """

    types: ResourceTypes
    encoded: bytes
    update_interval_ms: int = 0
    preemption_interval_ms: int | None = None


def with_own_file(settings: Any, texts: Mapping[str, str], family: AnyFamily) -> Any:
    """The settings with what fairshare.toml says of them. Raises ConfigurationError."""
    if OWN_FILE not in texts:
        return settings
    problems = Problems()
    root = read_toml(texts[OWN_FILE].encode(), OWN_FILE, problems)
    located = read_tree(root, problems, sections=section_types())
    types: ResourceTypes = settings.types
    settings = with_own_sections(settings, located, types, family.title, root, problems)
    problems.raise_errors()
    return settings


class NotReloadable(FairshareError):
    """The step replaces a file that this scheduler does not read again while it runs."""


class ConfigurationFiles:
    """The files of one scenario, for the scheduler of a family."""

    def __init__(
        self, texts: Mapping[str, str], properties: Mapping[str, str | None], family: AnyFamily
    ) -> None:
        self._family = family
        self._texts = dict(texts)
        self._properties = dict(properties)
        self._written_ms: int | None = None  # of the youngest file that was not read yet

    @property
    def on_command(self) -> bool:
        """Whether a reload is a command, which always reads (`refreshQueues`)."""
        return self._family.reloads_on_command

    def read(self) -> LoadedSettings:
        """What the files say now. Raises ConfigurationError with all problems of all files."""
        problems = Problems()
        own_properties = self._family.own_properties
        names = (*SITE_FILES, own_properties[0]) if own_properties else SITE_FILES
        documents = [(name, self._texts[name]) for name in names if name in self._texts]
        site = read_site(documents, problems, misplaced=self._family.misplaced)
        for file in (YARN_FILE, own_properties[0]) if own_properties else (YARN_FILE,):
            site = site.with_values(self._of_file(file), file)
        problems.raise_errors()
        settings = self._family.read_texts(site, self._texts)
        settings = with_own_file(settings, self._texts, self._family)
        self._written_ms = None
        intervals = self._family.scenario_intervals(settings)
        return LoadedSettings(settings.types, msgspec.json.encode(settings), *intervals)

    def write(self, files: dict[str, str], now_ms: int) -> None:
        """Replace files; nothing is read. Raises NotReloadable for files of another kind."""
        reloaded = (*self._family.reloaded_files, OWN_FILE)
        wrong = [name for name in files if name not in reloaded]
        if wrong:
            raise self._not_reloadable(wrong[0])
        self._texts.update(files)
        # A new file of the scheduler's own leaves nothing of the shorthand that belongs to it; a
        # new yarn-site.xml only wins over what it names.
        own = self._family.own_properties
        for name, text in files.items():
            if name == OWN_FILE:
                continue
            if own is not None and name == own[0]:
                gone = set(self._of_file(name))
            else:
                gone = {found.name for found in read_site([(name, text)], Problems())}
            self._properties = {n: value for n, value in self._properties.items() if n not in gone}
        self._written_ms = now_ms

    def change_properties(self, properties: dict[str, str | None]) -> None:
        """Change single properties; raises NotReloadable if no command reads them again."""
        if properties and not self.on_command:
            raise self._not_reloadable("properties")
        self._properties.update(properties)

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """Take back what was written inside when it ends with an error."""
        texts, properties = dict(self._texts), dict(self._properties)
        try:
            yield
        except FairshareError:
            self._texts, self._properties = texts, properties
            raise

    def is_due(self, now_ms: int) -> bool:
        """Whether the periodic check reads the files: one is unread and older than 5 s."""
        return self._written_ms is not None and now_ms > self._written_ms + RELOAD_WAIT_MS

    def _of_file(self, file: str) -> dict[str, str | None]:
        """The properties of the shorthand that belong to a file; None: not even if it has them."""
        own_properties, prefix = self._family.own_properties or (None, None)
        return {
            name: value
            for name, value in self._properties.items()
            if (prefix is not None and name.startswith(prefix)) == (file == own_properties)
        }

    def _not_reloadable(self, what: str) -> NotReloadable:
        files = ", ".join(self._family.reloaded_files) or "nothing"
        name = self._family.public_name
        return NotReloadable(f"the {name} scheduler reads {files} again while it runs, not {what}")
