"""The paths of the configuration: its state, the orders to change it, and the scheduler's file:
they show it, edit drafts of it, and put a draft in force.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.configuration import (
    ChangeBody,
    CheckedChange,
    ConfigurationVersion,
    ConfigurationVersionDetails,
    ConfigurationVersions,
    Properties,
    Refreshed,
    RollBackBody,
    RolledBack,
    TextVersion,
    TextVersionDetails,
    TextVersions,
)
from fairshare.api.values import ActorBody
from fairshare.documents.durations import parse_duration_ms
from fairshare.documents.xml import MAX_BYTES
from fairshare.errors import ConfigurationError, InputError
from fairshare.server import mutation
from fairshare.server.configuration_editor import ConfigurationEditor, ConfigurationText
from fairshare.server.draft_trial import Judgement
from fairshare.server.web.actors import believed_administrator, caller_of, check_administrator
from fairshare.server.web.answers import answer
from fairshare.server.web.authentication import KEY
from fairshare.server.web.limits import caller_of_scope
from fairshare.server.web.openapi.operation import get, post, serve
from fairshare.server.web.requests import read_body, read_parameters, server_of
from fairshare.settings.configuration_update import read_json
from fairshare.settings.draft import Edit

Text = Annotated[str, msgspec.Meta(max_length=MAX_BYTES)]

MOST_DRAFTED = 2 * 2**20
"""The limit on the length of a draft that any caller may have judged: about 20,000 queues, which
keep a processor busy for seconds. What an administrator puts in force may be longer."""


class DraftBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A draft, and the edits to apply to it."""

    text: Annotated[str, msgspec.Meta(max_length=MOST_DRAFTED)]
    edits: Annotated[tuple[Edit, ...], msgspec.Meta(max_length=100)] = ()


class TrialBody(ActorBody, frozen=True, kw_only=True):
    """A draft to try on the last part of the history: a duration, such as 24h or 14d."""

    text: Text
    last: Annotated[str, msgspec.Meta(max_length=32)] = "24h"


class ApplyBody(ActorBody, frozen=True, kw_only=True):
    """A draft to put in force. `digest` is that of the file that it was made from."""

    text: Text
    digest: Annotated[str, msgspec.Meta(max_length=64)]
    note: Annotated[str, msgspec.Meta(max_length=500)] = ""


MOST_EDITED = 10_000_000
"""The limit on the length of a draft's text times its edits: each edit parses the text again."""


TAG = "configuration"


def editor_of(request: Request) -> ConfigurationEditor:
    """The configuration editor of the server that serves a request."""
    return server_of(request).editor


async def show_document(request: Request) -> Response:
    """GET /configuration/document: the scheduler's file in force, its settings with their lines,
    and the settings that a form offers; 409 where there is no file."""
    read_parameters(request)
    found = await editor_of(request).document()
    content = msgspec.to_builtins(found)
    content["judgement"] = judgement_row(found.judgement, with_text=False)
    content["fields"] = editor_of(request).fields
    return answer(content)


async def judge_draft(request: Request) -> Response:
    """POST /configuration/draft: the text after the edits, its settings, and all its problems, each
    at its queue. Open to every caller; nothing changes."""
    body = await read_body(request, DraftBody)
    if len(body.text) * len(body.edits) > MOST_EDITED:
        raise InputError(
            "too-large",
            f"{len(body.edits)} edits of a text of {len(body.text)} characters are too many for one"
            " request: send some of them, and the others with the text that comes back",
        )
    turns: Turns = request.app.state.draft_turns
    async with turns.take(request, caller_of_scope(request.scope, KEY)):
        return answer(judgement_row(await editor_of(request).judge(body.text, body.edits)))


class Turns:
    """One draft is judged at a time, and of each caller one waits, the newest."""

    def __init__(self) -> None:
        self._judging = asyncio.Lock()
        self._waiting: dict[str, asyncio.Task[bool]] = {}

    @contextlib.asynccontextmanager
    async def take(self, request: Request, caller: str) -> AsyncIterator[None]:
        """Wait for a turn. Raises InputError (`replaced`) if the caller sends another draft
        meanwhile, or is gone."""
        if (earlier := self._waiting.pop(caller, None)) is not None:
            earlier.cancel()
        waiting = self._waiting[caller] = asyncio.create_task(self._judging.acquire())
        try:
            await asyncio.wait((waiting,))
            if waiting.cancelled() or await request.is_disconnected():
                raise InputError(
                    "replaced", "another draft of yours has come, and this one is not judged"
                )
            self._done(caller, waiting)
            yield
        finally:
            waiting.cancel()
            self._done(caller, waiting)
            if waiting.done() and not waiting.cancelled():
                self._judging.release()

    def _done(self, caller: str, waiting: asyncio.Task[bool]) -> None:
        if self._waiting.get(caller) is waiting:
            del self._waiting[caller]


async def apply_draft(request: Request) -> Response:
    """POST /admin/configuration/document: puts the draft in force as a new version; 400 with all
    problems of an invalid draft, 409 if the file has changed since, or the scheduler refuses it. In
    both cases nothing has changed."""
    body = await read_body(request, ApplyBody)
    await check_administrator(request, body)
    user = caller_of(request, body.user)
    try:
        found = await editor_of(request).apply(body.text, body.digest, user, body.note)
    except ConfigurationError as error:
        return _bad_configuration(error)
    return answer(_text_row(found, found.number))


async def try_draft(request: Request) -> Response:
    """POST /admin/configuration/trial: what the draft would have done to the last part of the
    history, as `fairshare plan --json` says it; 400 with all problems of an invalid draft, 409 if
    it cannot be tried. Nothing changes."""
    body = await read_body(request, TrialBody)
    await check_administrator(request, body)
    try:
        parse_duration_ms(body.last, least_ms=1)
    except ValueError as error:
        raise InputError("bad-request", f"last: {error}") from error
    try:
        return answer(await editor_of(request).trial.run(body.text, body.last))
    except ConfigurationError as error:
        return _bad_configuration(error)


def _bad_configuration(error: ConfigurationError) -> Response:
    problems = msgspec.to_builtins(error.problems)
    content = {"code": "bad-configuration", "message": str(error), "problems": problems}
    return answer(content, 400)


async def list_texts(request: Request) -> Response:
    """GET /configuration/texts: the versions whose text is kept, the newest first."""
    read_parameters(request)
    texts = editor_of(request).texts
    newest = texts.newest.number if texts.newest is not None else 0
    return answer(TextVersions(tuple(_text_row(one, newest) for one in reversed(texts.all))))


async def show_text(request: Request) -> Response:
    """GET /configuration/texts/VERSION: with the text."""
    read_parameters(request)
    texts = editor_of(request).texts
    version = request.path_params["version"]
    text = (
        texts.get(int(version))
        if version.isascii() and version.isdigit() and len(version) <= 18
        else None
    )
    if text is None or texts.newest is None:
        raise InputError("unknown-version", f"the text of version {version} is not kept (any more)")
    row = _text_row(text, texts.newest.number)
    return answer(TextVersionDetails(**msgspec.structs.asdict(row), text=text.text))


async def list_properties(request: Request) -> Response:
    """GET /configuration/site: the properties of all other files, with file and line."""
    read_parameters(request)
    return answer({"properties": editor_of(request).site_rows()})


def judgement_row(judgement: Judgement, *, with_text: bool = True) -> dict[str, Any]:
    """The settings of a draft, with its problems as a flat list."""
    row: dict[str, Any] = {"text": judgement.text} if with_text else {}
    return {
        **row,
        "usable": judgement.usable,
        "entries": judgement.entries,
        "parts": judgement.parts,
        "problems": [
            {**msgspec.to_builtins(one.problem), "queue": one.queue} for one in judgement.problems
        ],
    }


def _text_row(found: ConfigurationText, newest: int) -> TextVersion:
    return TextVersion(found.number, found.at_ms, found.user, found.note, found.number == newest)


async def show_configuration(request: Request) -> Response:
    """GET /configuration: what is in force, and if that is not what the files say, why."""
    read_parameters(request)
    return answer(server_of(request).configuration.view())


async def refresh_queues(request: Request) -> Response:
    """POST /admin/refresh-queues: 200 with what could not change; 400 with all problems of files
    that are wrong, 409 if the scheduler refuses what they say. Then nothing has changed."""
    await check_administrator(request, await read_body(request, ActorBody))
    configuration = server_of(request).configuration
    try:
        refreshed = await configuration.refresh()
    except ConfigurationError as error:
        content = {
            "code": "bad-configuration",
            "message": str(error),
            "problems": msgspec.to_builtins(error.problems),
        }
        return answer(content, 400)
    view = configuration.view()
    return answer(
        Refreshed(
            view.file, view.loaded_ms, view.version, refreshed.needs_restart, refreshed.problems
        )
    )


async def show_properties(request: Request) -> Response:
    """GET /configuration/properties: the scheduler's properties in force, and their version; 409
    where documents cannot change them."""
    read_parameters(request)
    server = server_of(request)
    return answer(Properties(mutation.version(server), mutation.current(server)))


async def change_properties(request: Request) -> Response:
    """POST /admin/configuration: 200 with the new version; 400 for an invalid document, 409 if its
    result is refused. In both cases nothing has changed."""
    body = await read_body(request, ChangeBody)
    server = server_of(request)
    update = read_json(json.dumps(body.update))
    if body.check:
        await check_administrator(request, body)
        properties = await mutation.validate(server, update)
        traps = await mutation.traps_of(server, update)
        return answer(CheckedChange(mutation.version(server), properties, update.ignored, traps))
    outcome = await mutation.update(server, update, believed_administrator(request, body.user))
    return answer(outcome)


async def format_properties(request: Request) -> Response:
    """POST /admin/configuration/format: discards all changes and returns to the file."""
    body = await read_body(request, ActorBody)
    outcome = await mutation.format_store(
        server_of(request), believed_administrator(request, body.user)
    )
    return answer(outcome)


async def list_versions(request: Request) -> Response:
    """GET /configuration/versions: the versions and when each came into force, the newest first."""
    read_parameters(request)
    server = server_of(request)
    in_force = server.configuration.view().version
    rows = tuple(
        ConfigurationVersion(one.version, one.loaded_ms, one.version == in_force)
        for one in reversed(server.projections.versions.all)
    )
    return answer(ConfigurationVersions(rows))


async def show_version(request: Request) -> Response:
    """GET /configuration/versions/VERSION: the scheduler's settings as they were then."""
    read_parameters(request)
    server = server_of(request)
    text = request.path_params["version"]
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else 0
    loaded = server.projections.versions.get(number)
    return answer(
        ConfigurationVersionDetails(
            loaded.version,
            loaded.loaded_ms,
            loaded.version == server.configuration.view().version,
            server.scheduler_name,
            cast(Any, msgspec.Raw(loaded.settings)),  # JSON as it was stored
        )
    )


async def roll_back(request: Request) -> Response:
    """POST /admin/configuration/roll-back: restores an earlier version, until the files are read
    again; 409 where the scheduler's settings cannot be rolled back."""
    body = await read_body(request, RollBackBody)
    await check_administrator(request, body)
    server = server_of(request)
    found = server.projections.versions.get(body.version)
    await server.editor.roll_back(found, caller_of(request, body.user))
    return answer(RolledBack(server.configuration.view().version, body.version))


ROUTES = [
    get("/configuration/document", show_document, TAG, dict[str, Any]),
    post("/configuration/draft", judge_draft, TAG, DraftBody, dict[str, Any]),
    get("/configuration/texts", list_texts, TAG, TextVersions),
    get("/configuration/texts/{version}", show_text, TAG, TextVersionDetails),
    get("/configuration/site", list_properties, TAG, dict[str, Any]),
    post("/admin/configuration/document", apply_draft, TAG, ApplyBody, TextVersion),
    post("/admin/configuration/trial", try_draft, TAG, TrialBody, dict[str, Any]),
    get("/configuration/versions", list_versions, TAG, ConfigurationVersions),
    get("/configuration/versions/{version}", show_version, TAG, ConfigurationVersionDetails),
    post("/admin/configuration/roll-back", roll_back, TAG, RollBackBody, RolledBack),
    serve(routes.SHOW_PROPERTIES, show_properties, TAG),
    serve(routes.CHANGE_PROPERTIES, change_properties, TAG),
    serve(routes.FORMAT_PROPERTIES, format_properties, TAG),
    serve(routes.SHOW_CONFIGURATION, show_configuration, TAG),
    serve(routes.REFRESH_QUEUES, refresh_queues, TAG),
]
