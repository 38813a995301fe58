"""`SchedulerFamily`: what a scheduler brings along so that all of fairshare can use it.

Other packages ask a family; they never compare a scheduler's name, and never test the class of a
scheduler, its state or its settings.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, TypeVar

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.events import Event
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.access_lists import allows_all
from fairshare.core.schedulers.protocol import Scheduler, State
from fairshare.core.schedulers.reasons import Reason
from fairshare.core.schedulers.views import VolatileFields, VolatileFieldsOf
from fairshare.documents.problems import Place, Problem, Problems
from fairshare.errors import InputError
from fairshare.settings.configuration import Configuration, ConfigurationStore, Refreshed
from fairshare.settings.configuration_update import Update
from fairshare.settings.draft import DraftForm
from fairshare.settings.jobs import Jobs
from fairshare.settings.parts import named, part
from fairshare.settings.raising import Raise
from fairshare.settings.resource_types import with_maximum
from fairshare.settings.shell import ShellSettings
from fairshare.settings.site import Site
from fairshare.settings.site_files import FileReader


class StoredClass(msgspec.Struct, frozen=True):
    """A class with its tag, which is permanent, and the fields to store: those of a structure, the
    slots, or else `fields`.

    `derived` fields follow from the others: the class's method `derive` makes them. `state`: it is
    the scheduler's state, and also has the fields of `ClusterState`. `names` leads from a name to
    the object, for those that are not copied.
    """

    tag: str
    cls: type
    fields: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    names: Callable[[str], Any] | None = None
    state: bool = False


CLASS: Final = "yarn.resourcemanager.scheduler.class"
TASK_SCHEDULER: Final = "mapred.jobtracker.taskScheduler"

SHARED_FILE, PROPERTIES, OWN_FILE = 1, 2, 3
"""How strong a claim is: a file whose name other schedulers use too, properties of the scheduler's
own, a file of its own."""

Settings = TypeVar("Settings", bound=msgspec.Struct)


class Claim(msgspec.Struct, frozen=True):
    """Why a directory that names no scheduler is meant for one; the strongest claim decides.

    Where Hadoop would start another scheduler, `reason` completes "fair, because", and `advice`
    says which property to set; both are empty where Hadoop decides likewise.
    """

    strength: int
    place: Place
    reason: str = ""
    advice: str = ""


class Source(msgspec.Struct, frozen=True):
    """What a family reads its settings from."""

    directory: Path
    site: Site
    shell: ShellSettings


class ReadSettings(msgspec.Struct, frozen=True):
    """The settings of a directory; `file` is the file of queues that was read, if there is one.

    The server looks at the watched file each `auto_refresh_ms`; None: as fairshare.toml says.
    """

    settings: Any
    file: Path | None = None
    auto_refresh_ms: int | None = None


class Watched(msgspec.Struct, frozen=True):
    """A file that the server looks at while it runs; `what` is its name in the log.

    `alone`: a change of the file leads to `SchedulerFamily.reread_file`; else the server reads the
    whole directory.
    """

    path: Path
    what: str
    alone: bool = False


class SchedulerFamily(ABC, Generic[Settings]):
    """One scheduler with all that belongs to it; `settings.registry` has one object of each.

    What a family does not define has the default that is documented here. `cluster` always is what
    all nodes offer together, None if that is unknown.
    """

    name: ClassVar[str]
    """As the journal, the REST interface and the command line's `--scheduler` name it."""

    title: ClassVar[str]
    """For people: `Fair Scheduler`."""

    alias: ClassVar[str] = ""
    """The name in scenario files and on the command line, if it is not `name`."""

    classes: ClassVar[tuple[tuple[str, str], ...]] = ()
    """The properties that choose it, each with the Java class that means this scheduler."""

    files: ClassVar[tuple[str, ...]] = ()
    """The files that a directory may have for it beside those that all schedulers share."""

    settings_type: ClassVar[type[msgspec.Struct]]
    """The class of its settings. They have `types`, `minimum_allocation`, `maximum_allocation`,
    and `fairness` and `time_limits` if it follows these sections of fairshare.toml."""

    stored_classes: ClassVar[tuple[StoredClass, ...]] = ()
    """The classes of the scheduler, its settings and its state, by which snapshots find them."""

    events: ClassVar[tuple[type[Event], ...]] = ()
    """The events of this scheduler alone, which journals can contain."""

    administrators_field: ClassVar[str] = "administrators"
    """The field of the settings that names the administrators of the cluster."""

    tidies_before_load: ClassVar[bool] = False
    """Whether a server removes idle queues before it loads new settings, as Hadoop's loader."""

    grants_minimum: ClassVar[bool] = False
    """Whether containers have any resource type, and at least the minimum allocation of each: then
    lint compares both with the nodes of fairshare.toml."""

    elements: ClassVar[frozenset[str]] = frozenset()
    """The names of elements in its XML file of queues; empty: there is no such file."""

    distinctive_elements: ClassVar[frozenset[str]] = frozenset()
    """Those of `elements` that show whose file it is, though other schedulers read them, too."""

    reloaded_files: ClassVar[tuple[str, ...]] = ()
    """The files that it reads again while it runs, by itself or on a command."""

    reloads_on_command: ClassVar[bool] = False
    """Whether a command reads the files again, whether they were written or not; then it may also
    change single properties. Else the scheduler looks at its files by itself."""

    own_properties: ClassVar[tuple[str, str] | None] = None
    """Its own file of properties, and the prefix of those that belong in it."""

    def misplaced(self, file: str, name: str) -> bool:
        """Whether Hadoop does not read a property from this file."""
        return False

    jobs: ClassVar[Jobs | None] = None
    """The words of MapReduce jobs, if applications are such jobs, whose tasks take slots: scenarios
    then have jobs."""

    has_priorities: ClassVar[bool] = True
    """Whether the priority of an application means anything."""

    moves_applications: ClassVar[bool] = True
    """Whether applications can be moved to another queue."""

    section: ClassVar[str] = ""
    """The name of its own section of fairshare.toml; empty: it has none."""

    section_type: ClassVar[type[msgspec.Struct]]
    """The keys of that section, with their types, bounds and defaults; `ShellSettings.sections` has
    its values."""

    draft: ClassVar[DraftForm | None] = None
    """How its file of queues is edited as a draft; None: it has no such file."""

    yarn: ClassVar[Any] = part(lambda: named("fairshare.yarn.views.interface:YarnInterface")())
    """What YARN's REST interface shows of the scheduler. By default what it shows of a scheduler
    that YARN does not know."""

    @property
    def public_name(self) -> str:
        """The name in scenario files and on the command line."""
        return self.alias or self.name

    @abstractmethod
    def create(self, types: ResourceTypes) -> Scheduler:
        """A scheduler without queues and nodes; a `LoadConfiguration` gives it its settings."""

    def volatile_fields(self, scheduler: Scheduler) -> VolatileFieldsOf:
        """A function for the fields of application views that change without an event naming the
        application; callers that cache views read these for each answer. By default they are those
        of the whole view; override it where they cost less."""

        def look(application: Application) -> VolatileFields:
            view = scheduler.application_view(application.id)
            return VolatileFields(
                view.demand, view.fair_share, view.headroom, view.diagnostics, view.job
            )

        return look

    def settings_of(self, configuration: Configuration) -> Settings:
        """The settings of a configuration of this family."""
        return self.checked(configuration.settings)

    def checked(self, settings: object) -> Settings:
        """Settings of this family, for the type checker."""
        assert isinstance(settings, self.settings_type), f"not settings of {self.name}"
        return settings  # type: ignore[return-value]

    def rounding(self, settings: Any) -> Resource:
        """The amounts to whose multiples containers are rounded up. By default the minimum."""
        least: Resource = settings.minimum_allocation
        return least

    def raised(self, settings: object, reason: Reason, total: Resource) -> Raise | None:
        """The limit that makes a reason to wait, if it can be raised by one setting; `total` is
        what all nodes offer together. By default there is none."""
        return None

    def enlarged(self, settings: object, queue: str) -> Raise | None:
        """The setting that gives a queue a larger part of the cluster, with larger values. By
        default there is none."""
        return None

    # Reading a directory.

    def claim(self, site: Site, directory: Path) -> Claim | None:
        """Whether a directory in which no property names a scheduler is meant for this one."""
        return None

    def read_properties(
        self,
        directory: Path,
        documents: Sequence[tuple[str, bytes]],
        site: Site,
        stored: Mapping[str, str] | None,
        problems: Problems,
    ) -> tuple[Site, ConfigurationStore]:
        """All properties, and how they may be changed while a server runs.

        `documents` are the files that `site` was read from; `stored` are properties that hold
        instead of those of the family's own file.
        """
        return site, ConfigurationStore(base=site)

    def written_properties(self, directory: Path) -> tuple[tuple[str, str], ...]:
        """Names and values of the properties that documents can change, as its file has them."""
        return ()

    def resource_types(self, types: ResourceTypes) -> ResourceTypes:
        """The resource types of a cluster that declares `types`."""
        return types

    @property
    def gpu_properties(self) -> Mapping[str, str]:
        """Defaults of properties without which it could not count the GPUs of `gpus`."""
        return {}

    def node_resources(self, site: Site, problems: Problems) -> dict[str, int]:
        """Resources of each node that the properties name; fairshare.toml overrides them."""
        return {}

    @abstractmethod
    def read(self, source: Source, problems: Problems) -> ReadSettings:
        """The settings of a directory. An error is added to the problems, with a default in its
        place."""

    def read_texts(self, site: Site, files: Mapping[str, str]) -> Settings:
        """The settings of files in memory, as scenarios have them; `files` are all but those that
        `site` was read from. Raises ConfigurationError with all problems."""
        problems = Problems()
        found = self.read(Source(Path(), site, ShellSettings()), problems)
        problems.raise_errors()
        return self.checked(found.settings)

    def scenario_intervals(self, settings: Settings) -> tuple[int, int | None]:
        """How many milliseconds pass between two updates (0: there are none), and between two
        rounds of preemption (0: none; None: preemption is not in rounds)."""
        return 0, None

    def with_administrator(self, settings: Settings, user: str) -> Settings:
        """The settings with one more administrator of the cluster."""
        written = getattr(settings, self.administrators_field)
        if allows_all(written):
            return settings
        return msgspec.structs.replace(settings, **{self.administrators_field: f"{user},{written}"})

    reserves_in_part: bool = False
    """Whether the scheduler can reserve a part of a node for what a queue is entitled to."""

    def without_whole_reservations(
        self, configuration: Configuration, entitled_after_ms: int | None, *, forced: bool
    ) -> Settings:
        """The settings under which no whole node is reserved; as they are where files decided
        that, unless `forced`. A part is reserved for what has waited for `entitled_after_ms`; None:
        none is."""
        return self.settings_of(configuration)

    # Changes while a server runs.

    def watched(self, configuration: Configuration) -> Watched | None:
        """The file that a server looks at for changes."""
        return None

    def refreshed(
        self, started: Configuration, in_force: Settings, now: Configuration, problems: Problems
    ) -> Settings:
        """What a refresh of the whole directory puts in force.

        `started` is what the server was started with, `now` what the directory says now. By default
        only the maximum allocation changes. Raises ConfigurationError, or adds to the problems.
        """
        return with_maximum(in_force, self.settings_of(now), now.site, problems)

    def is_refreshed(self, property_name: str) -> bool:
        """Whether `refreshed` takes over the value of a property; else it needs a restart."""
        return False

    def reread_file(self, path: Path, in_force: Settings) -> tuple[Settings, tuple[Problem, ...]]:
        """The settings in force with the watched file as it is now, and what there is to say.

        Only called where `watched` has a file of its own. Raises ConfigurationError.
        """
        raise NotImplementedError

    def with_properties(
        self,
        store: ConfigurationStore,
        in_force: Settings,
        properties: Mapping[str, str],
        read_file: FileReader,
    ) -> Refreshed:
        """What other properties put in force; only called if `store` is mutable.

        Raises ConfigurationError with all problems.
        """
        raise InputError("not-mutable", f"the {self.title} has no properties to change")

    def updated_properties(self, properties: Mapping[str, str], update: Update) -> dict[str, str]:
        """Its properties after a change by document, in their order; raises InputError
        (`bad-update`). Whether the result makes sense as a whole is not asked here. By default no
        document changes anything (`not-mutable`)."""
        raise InputError("not-mutable", f"no document changes properties of the {self.title}")

    def refusals(self, settings: object, state: State) -> tuple[str, ...]:
        """Why settings cannot be loaded in this state of the cluster."""
        return ()

    def edited_file(self, configuration: Configuration) -> Path | None:
        """The file that a draft replaces; None: the server keeps the properties itself."""
        return None

    # Lint: likely mistakes.

    def lint_directory(
        self, configuration: Configuration, cluster: Resource | None, problems: Problems
    ) -> None:
        """Add what the rules find in a whole directory."""

    def owns_site(self, site: Site, file: str) -> bool:
        """Whether one `<configuration>` file that names no scheduler is meant for this one."""
        return False

    def lint_site(
        self, path: Path, site: Site, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """Add what there is to say about one `<configuration>` file."""

    def lint_elements(
        self, path: Path, document: bytes, cluster: Mapping[str, int] | None, problems: Problems
    ) -> None:
        """Add what there is to say about one file of queues; only called if `elements` has any."""

    def lint_draft(
        self,
        text: str,
        file: str,
        configuration: Configuration,
        cluster: Resource | None,
        problems: Problems,
    ) -> Settings | None:
        """Add what there is to say about a draft; its settings where `refusals` has to judge them.

        Only called if `draft` is there.
        """
        return None

    def lint_properties(
        self, store: ConfigurationStore, properties: Mapping[str, str], read_file: FileReader
    ) -> tuple[Problem, ...]:
        """What the rules say of properties that documents have changed."""
        return ()


AnyFamily = SchedulerFamily[Any]
