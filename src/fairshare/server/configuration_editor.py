"""The editing of the scheduler's file through the server: its text in force, the validation of
drafts, and putting a draft in force.

To put a draft in force, the editor validates it, replaces the file atomically, with its permissions
kept, and loads it; if the scheduler refuses it, the file is restored. Where properties are changed
by document (`stored_configuration.py`) there is no file to write: then a draft changes the
properties.
"""

import asyncio
import hashlib
import logging
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairshare.core.schedulers.protocol import State
from fairshare.documents.problems import Problem, Problems
from fairshare.errors import ConfigurationError, FairshareError, InputError
from fairshare.runtime.projections.scheduler_history import LoadedVersion
from fairshare.server.configuration import LiveConfiguration
from fairshare.server.draft_trial import DraftTrial, Judgement, QueueProblem
from fairshare.server.state_directory import remove_file, write_file
from fairshare.settings.configuration import Configuration
from fairshare.settings.draft import DraftForm, Edit, Field, properties_text
from fairshare.settings.family import AnyFamily
from fairshare.settings.linting import judge_draft
from fairshare.settings.registry import family_of
from fairshare.settings.site_files import read_site
from fairshare.wording import cause

FOLDER: Final = "configuration-texts"
MAX_TEXTS: Final = 50
"""Texts that are kept; the oldest go first."""


class ConfigurationText(msgspec.Struct, frozen=True):
    """One text that was in force from `at_ms` on. `user` is its author; empty: it was edited
    outside of the server. `digest` identifies the text."""

    number: int
    at_ms: int
    user: str
    note: str
    digest: str
    text: str


def digest_of(text: str | None) -> str:
    """The digest that identifies a text; empty where there is no file.

    >>> digest_of("a") == digest_of("b"), digest_of(None)
    (False, '')
    """
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]


class ConfigurationTexts:
    """The texts of one server, the oldest first. Raises FairshareError if they cannot be kept.

    An unreadable file is skipped: it is only history, and must not prevent a start.
    """

    def __init__(self, state_directory: Path) -> None:
        self._folder = state_directory / FOLDER
        self.all: list[ConfigurationText] = []
        if self._folder.is_dir():
            for path in sorted(self._folder.glob("*.json")):
                try:
                    self.all.append(msgspec.json.decode(path.read_bytes(), type=ConfigurationText))
                except (OSError, msgspec.DecodeError):
                    continue

    @property
    def newest(self) -> ConfigurationText | None:
        """The one in force; None before the first."""
        return self.all[-1] if self.all else None

    def get(self, number: int) -> ConfigurationText | None:
        """One text by the number of its version."""
        return next((one for one in self.all if one.number == number), None)

    def of_version(self, version: int) -> ConfigurationText | None:
        """The text that was in force with a version: not each version has a text of its own, since
        other files count, too. None if it is no longer kept."""
        return next((one for one in reversed(self.all) if one.number <= version), None)

    def add(
        self, number: int, at_ms: int, text: str, user: str = "", note: str = ""
    ) -> ConfigurationText:
        """A text is in force as version `number`. One that was in force already is not added."""
        newest = self.newest
        digest = digest_of(text)
        if newest is not None and newest.digest == digest:
            return newest
        if newest is not None:
            number = max(number, newest.number + 1)
        version = ConfigurationText(number, at_ms, user, note, digest, text)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise FairshareError(f"cannot make {self._folder}: {error.strerror}") from error
        write_file(self._path(number), msgspec.json.encode(version))
        self.all.append(version)
        while len(self.all) > MAX_TEXTS:
            remove_file(self._path(self.all.pop(0).number))
        return version

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:09d}.json"


def swap_file(path: Path, content: bytes | None) -> bytes | None:
    """Replace the content of a file, or delete it (None), and return the old content; None: it did
    not exist.

    A link stays a link; its target is changed. Raises FairshareError with what to do; then the file
    is unchanged.
    """
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        before, mode = None, 0o644
        if target.exists():
            before, mode = target.read_bytes(), stat.S_IMODE(target.stat().st_mode)
        if content is None:
            target.unlink(missing_ok=True)
            return before
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise FairshareError(
            f"cannot write {path}: {error.strerror or error}. The server's user needs to write"
            " there; nothing has changed"
        ) from error
    return before


STORE = "scheduler-conf"

_log = logging.getLogger("fairshare.configuration")


class Document(msgspec.Struct, frozen=True):
    """The scheduler's file. `text` is in force since `version`, and `digest` is that of the file on
    disk now: `differs` says that the two differ.

    `restored` is the earlier version that was rolled back to, in memory alone; None: the file is in
    force. `known` is False if the text in force is not kept: then `text` is the file's.
    """

    kind: str
    file: str
    text: str
    version: int
    digest: str
    differs: bool
    judgement: Judgement
    restored: int | None = None
    known: bool = True


class ConfigurationEditor:
    """The editor of one server's configuration."""

    def __init__(self, live: LiveConfiguration, state_directory: Path, state: State) -> None:
        self._live = live
        self._state = state
        self.texts = ConfigurationTexts(state_directory)
        self._author = ("", "")
        self._restoring: LoadedVersion | None = None
        self._restored: int | None = None  # the version rolled back to, which differs from the file
        self._known = True
        self._judging = asyncio.Lock()
        self.trial = DraftTrial(self, state_directory)
        live.on_loaded = self.remember

    @property
    def started(self) -> Configuration:
        """The server's configuration; raises InputError if it has no file to edit."""
        if self._live.started is None:
            raise InputError(
                "no-configuration", "this server was started without a configuration directory"
            )
        return self._live.started

    @property
    def family(self) -> AnyFamily:
        """The scheduler's family; raises InputError (`no-configuration`)."""
        return family_of(self.started.scheduler)

    @property
    def form(self) -> DraftForm:
        """How the file is edited; raises InputError (`no-configuration`) if there is none."""
        family = self.family
        if family.draft is None:
            raise InputError("no-configuration", f"the {family.title} has no file of queues")
        return family.draft

    @property
    def fields(self) -> tuple[Field, ...]:
        """The settings of a queue that a form offers; raises InputError (`no-configuration`)."""
        return self.form.fields

    @property
    def path(self) -> Path | None:
        """The file; None where the properties are kept by the server."""
        assert self.form
        return self.family.edited_file(self.started)

    @property
    def file(self) -> str:
        """The file's name in problems."""
        return STORE if self.path is None else str(self.path)

    def remember(self) -> None:
        """Add the settings just loaded as a version."""
        back = self._restoring
        self._restored, self._known = (None, True) if back is None else (back.version, False)
        try:
            if back is None:
                text = self._written()
            else:
                found = self.texts.of_version(back.version)
                text = None if found is None else found.text
            if text is not None:
                view = self._live.view()
                self.texts.add(view.version, view.loaded_ms, text, *self._author)
                self._known = True
        except InputError:
            return
        except FairshareError as error:
            _log.error("the text of this version of the configuration is not kept: %s", error)

    def _written(self) -> str | None:
        """The present content of the file, or of the server's store; None if there is no file.

        Raises FairshareError if it cannot be read.
        """
        path = self.path
        if path is None:
            return properties_text(self._live.properties())
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise FairshareError(f"cannot read {path}: {cause(error)}") from error

    async def document(self) -> Document:
        """The file in its present state; raises InputError, or FairshareError if it cannot be
        read."""
        form = self.form
        written = await asyncio.to_thread(self._written)
        view = self._live.view()
        newest = self.texts.newest
        another = newest is None or newest.digest != digest_of(written)
        if self._restored is None and another and (newest is None or not view.changed):
            self.remember()
            newest = self.texts.newest
        text = newest.text if newest is not None else form.empty
        version = newest.number if newest is not None else view.version
        if not self._known:
            text, version = form.empty if written is None else written, view.version
        return Document(
            kind=self.family.name,
            file=self.file,
            text=text,
            version=version,
            digest=digest_of(written),
            differs=written is not None and digest_of(written) != digest_of(text),
            judgement=await self.judge(text),
            restored=self._restored,
            known=self._known,
        )

    async def judge(self, text: str, edits: Sequence[Edit] = ()) -> Judgement:
        """The settings of a draft after some edits; changes nothing.

        Raises InputError (`bad-edit`) for a change that cannot be made.
        """
        cluster = self._state.types.mapping(self._state.total)
        async with self._judging:  # one at a time: a large text keeps a processor busy
            return await asyncio.to_thread(self._judged, text, edits, cluster)

    def _judged(self, text: str, edits: Sequence[Edit], cluster: dict[str, int]) -> Judgement:
        form, family, file = self.form, self.family, self.file
        text = form.edited(text, edits)
        known = cluster if any(cluster.values()) else None
        problems, settings = judge_draft(family, text, file, self.started, known)
        all_problems = [*problems]
        if settings is not None:
            all_problems += [
                Problem(file, 0, 0, "refused", "error", message)
                for message in family.refusals(settings, self._state)
                if all(message != problem.message for problem in problems)
            ]
        reading = form.read(text)
        return Judgement(
            text=text,
            entries=reading.entries,
            parts=reading.parts,
            problems=tuple(QueueProblem(reading.queue_at(p.line), p) for p in all_problems),
            usable=all(problem.severity != "error" for problem in all_problems),
        )

    async def apply(self, text: str, digest: str, user: str, note: str) -> ConfigurationText:
        """Put a draft in force; the number of the new version.

        `digest` is that of the file as the draft's author saw it. Raises InputError
        (`configuration-changed`) if it is another one now, ConfigurationError with all problems of
        the draft, InputError if the scheduler refuses it, FairshareError if it cannot be written.
        Then nothing has changed.
        """
        judged = await self.judge(text)
        if not judged.usable:
            raise ConfigurationError([one.problem for one in judged.problems])
        configuration = self._live
        self._author = (user, note)
        try:
            path = self.path
            if path is None:
                self._check(digest)
                site = read_site([(self.file, text)], Problems())
                properties = {found.name: found.value for found in site}
                await configuration.mutate(lambda _: properties)
            else:
                await self._replace(path, text, digest)
        finally:
            self._author = ("", "")
        newest = self.texts.newest
        assert newest is not None, "what was loaded was remembered"
        _log.info("%s put version %d of %s in force", user, newest.number, self.file)
        return newest

    async def roll_back(self, loaded: LoadedVersion, user: str) -> None:
        """Roll back to an earlier version, in memory: the file does not change.

        Raises InputError as `LiveConfiguration.roll_back` does. Then nothing has changed.
        """
        self._restoring = loaded
        self._author = (user, f"back to version {loaded.version}, in memory only")
        try:
            await self._live.roll_back(loaded.settings)
        finally:
            self._restoring, self._author = None, ("", "")

    async def _replace(self, path: Path, text: str, digest: str) -> None:
        """Write the file and load it, or leave it unchanged."""
        configuration = self._live
        async with configuration.loading:
            self._check(digest)
            before = await asyncio.to_thread(swap_file, path, text.encode())
            try:
                await configuration.reread()
            except BaseException:
                swap_file(path, before)
                raise

    def _check(self, digest: str) -> None:
        if digest_of(self._written()) != digest:
            raise InputError(
                "configuration-changed",
                f"{self.file} has changed since this draft was begun: look at what"
                " it says now, and make the change again",
            )

    def site_rows(self) -> list[dict[str, object]]:
        """The properties of all other files, by the names of the files; secrets are masked."""
        assert self.form
        return [
            {
                "name": entry.name,
                "value": "(not shown)" if is_secret(entry.name) else entry.value,
                "file": entry.place.file,
                "line": entry.place.line,
                "final": entry.final,
            }
            for entry in self.started.store.base
        ]


def is_secret(name: str) -> bool:
    """Whether a property's value is a secret, to be masked.

    >>> is_secret("ssl.server.keystore.password"), is_secret("yarn.acl.enable")
    (True, False)
    """
    return any(
        part in name.lower() for part in ("secret", "password", "keypass", "credential", "token")
    )
