"""Owns the paths of the configuration: its state, and the orders to change it."""

import json
from typing import Any, cast

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.configuration import (
    Change,
    ChangeBody,
    CheckedChange,
    Configuration,
    ConfigurationVersion,
    ConfigurationVersionDetails,
    ConfigurationVersions,
    Properties,
    Refreshed,
    RollBackBody,
    RolledBack,
)
from fairshare.api.values import ActorBody
from fairshare.errors import ConfigurationError
from fairshare.families.configuration_update import read_json
from fairshare.server import mutation
from fairshare.web.actors import believed_administrator, caller_of, check_administrator
from fairshare.web.answers import answer
from fairshare.web.openapi.operation import get, post
from fairshare.web.requests import read_body, read_parameters, server_of

TAG = "configuration"


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
        found = await configuration.refresh()
    except ConfigurationError as error:
        content = {
            "code": "bad-configuration",
            "message": str(error),
            "problems": msgspec.to_builtins(error.problems),
        }
        return answer(content, 400)
    view = configuration.view()
    return answer(
        Refreshed(view.file, view.loaded_ms, view.version, found.needs_restart, found.problems)
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
    found = server.projections.versions.get(number)
    return answer(
        ConfigurationVersionDetails(
            found.version,
            found.loaded_ms,
            found.version == server.configuration.view().version,
            server.scheduler_name,
            cast(Any, msgspec.Raw(found.settings)),  # JSON as it was stored
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
    get("/configuration/versions", list_versions, TAG, ConfigurationVersions),
    get("/configuration/versions/{version}", show_version, TAG, ConfigurationVersionDetails),
    post("/admin/configuration/roll-back", roll_back, TAG, RollBackBody, RolledBack),
    get("/configuration/properties", show_properties, TAG, Properties),
    post("/admin/configuration", change_properties, TAG, ChangeBody, (Change, CheckedChange)),
    post("/admin/configuration/format", format_properties, TAG, ActorBody, Change),
    get("/configuration", show_configuration, TAG, Configuration),
    post("/admin/refresh-queues", refresh_queues, TAG, ActorBody, Refreshed),
]
