"""The records of a server's configuration: what is in force, its problems, its changes."""

from typing import Annotated, Any

import msgspec

from fairshare.api.values import EMPTY, ActorBody
from fairshare.documents.problems import Problem as Problem


class ConfigurationFailure(msgspec.Struct, frozen=True):
    """Why the files are not in force. `problems` is empty if the scheduler refused them."""

    since_ms: int = 0
    message: str = ""
    problems: tuple[Problem, ...] = ()


class Configuration(msgspec.Struct, frozen=True):
    """The configuration in force, compared with the files.

    `file` is the file that is watched, None if there is none. `changed`: the file on disk differs
    from the loaded one. `version` is the number of the journal's record that loaded what is in
    force. `problems` are the warnings of that load.
    """

    directory: str | None = None
    file: str | None = None
    loaded_ms: int = 0
    version: int = 0
    changed: bool = False
    check_interval_ms: int | None = None
    settle_ms: int | None = None
    problems: tuple[Problem, ...] = ()
    error: ConfigurationFailure | None = None


class Refreshed(msgspec.Struct, frozen=True):
    """What a refresh loaded; `needs_restart` names what it could not change."""

    file: str | None = None
    loaded_ms: int = 0
    version: int = 0
    needs_restart: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Properties(msgspec.Struct, frozen=True):
    """The scheduler's properties in force, where documents may change them."""

    version: int
    properties: tuple[tuple[str, str], ...]


class CheckedChange(Properties, frozen=True):
    """The properties that a change would lead to. `ignored` are unknown keys of the document,
    `problems` the warnings of the result."""

    ignored: tuple[str, ...]
    problems: tuple[Problem, ...]


class Change(msgspec.Struct, frozen=True):
    """A change that was made. `ignored` are unknown keys of the document, `problems` the warnings
    of the settings now in force, and lint's findings about the change."""

    version: int
    message: str
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class ChangeBody(ActorBody, frozen=True, kw_only=True):
    """A change of properties: a document as Hadoop's `scheduler-conf` accepts it. With `check` it
    is only validated."""

    update: dict[str, object] = EMPTY
    check: bool = False


class ConfigurationVersion(msgspec.Struct, frozen=True):
    """Settings that were in force, by the record that loaded them."""

    version: int
    loaded_ms: int
    in_force: bool


class ConfigurationVersions(msgspec.Struct, frozen=True):
    """The versions, the newest first."""

    versions: tuple[ConfigurationVersion, ...]


class ConfigurationVersionDetails(ConfigurationVersion, frozen=True):
    """Settings that were in force."""

    scheduler: str
    settings: dict[str, Any]


class RollBackBody(ActorBody, frozen=True, kw_only=True):
    """The version of the configuration to restore."""

    version: Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class RolledBack(msgspec.Struct, frozen=True):
    """What is in force, and the version that it restored."""

    version: int
    restored: int


class TextVersion(msgspec.Struct, frozen=True):
    """A version of the scheduler's file that is kept: when it came into force, by whom, and why."""

    version: int
    at_ms: int
    user: str
    note: str
    in_force: bool


class TextVersions(msgspec.Struct, frozen=True):
    """The versions whose text is kept, the newest first."""

    texts: tuple[TextVersion, ...]


class TextVersionDetails(TextVersion, frozen=True):
    """A version of the scheduler's file, with its text."""

    text: str
