"""`Jobs`: what a family of MapReduce jobs says to tools that describe jobs, such as scenarios."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

SettingsOfJobs = Any
"""The settings of the family's scheduler; they have `types`."""


class JobFiles(Protocol):
    """The configuration files of a simulated cluster, as a directory that a server reads."""

    settings: SettingsOfJobs
    """Those in force."""

    def write(self, files: dict[str, str], now_ms: int) -> None:
        """Replace files; nothing is read. Raises InputError for one that is never read again."""

    def read(self, now_ms: int) -> SettingsOfJobs:
        """Read the files now; raises ConfigurationError, and then nothing has changed."""

    def look(self, now_ms: int) -> SettingsOfJobs | None:
        """What the scheduler notices by itself: new settings, or nothing."""


class Jobs(ABC):
    """The words of jobs, and the files that configure them."""

    priorities: ClassVar[tuple[str, ...]]
    """The names of priorities, the least urgent first."""

    slots: ClassVar[tuple[str, ...]]
    """The resource types that tasks take: of maps, then of reduces."""

    generations: ClassVar[tuple[str, ...]]
    """The releases of Hadoop whose behaviour can be chosen."""

    @abstractmethod
    def pool_of(self, queue: str) -> str:
        """The plain name of a queue's pool."""

    @abstractmethod
    def property_of_pool(self, settings: SettingsOfJobs) -> str:
        """The property in which a job names its pool."""

    @abstractmethod
    def files(
        self,
        texts: Mapping[str, str],
        properties: Mapping[str, str | None],
        switches: Mapping[str, object],
        now_ms: int,
    ) -> JobFiles:
        """Files by name, single properties before them, and switches of its section of
        fairshare.toml. Raises ConfigurationError with all problems when the scheduler would not
        start with them."""
