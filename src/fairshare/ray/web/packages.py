"""The paths of packages: Ray's client asks for one and uploads it, a job's container fetches it.

A package has the name that the client computed of its content; it belongs to who uploaded it.
"""

import os

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.ray_programs import job_of
from fairshare.documents.sizes import MEBIBYTE
from fairshare.errors import InputError
from fairshare.ray.web.known_jobs import index_of
from fairshare.server.archives import ArchiveProblem, check_archive
from fairshare.server.packages import NAME
from fairshare.server.web.actors import caller_of
from fairshare.server.web.containers import file_answer, size_of
from fairshare.server.web.openapi.operation import get
from fairshare.server.web.requests import read_application, read_parameters, server_of

PROTOCOL = "gcs"
PIECE_BYTES = 1024 * 1024
UNPACKED_TIMES = 10
"""How much larger the files of a package may be than the largest package."""


async def show_package(request: Request) -> Response:
    """GET /api/packages/gcs/NAME: 200 without a body if the caller has uploaded it, else 404."""
    name = _name_of(request)
    packages = server_of(request).packages
    if await run_in_threadpool(packages.find, caller_of(request, None), name) is None:
        raise InputError("unknown-package", f"Package {PROTOCOL}://{name} does not exist")
    return Response()


async def upload_package(request: Request) -> Response:
    """PUT /api/packages/gcs/NAME: a zip file. It is there as a whole, or not at all."""
    name = _name_of(request)
    user = caller_of(request, None)
    server = server_of(request)
    if problem := server.disk.problem:
        raise InputError("disk-full", problem)
    limits = server.settings.limits
    most = limits.package_mb * MEBIBYTE
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise _too_large(most)
    needed = index_of(request).needed()
    try:
        with server.packages.draft() as draft:
            with draft.open("wb") as file:
                size, piece = 0, bytearray()
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > most:
                        raise _too_large(most)
                    piece += chunk
                    if len(piece) >= PIECE_BYTES:
                        await run_in_threadpool(file.write, bytes(piece))
                        piece.clear()
                file.write(piece)
                file.flush()
                await run_in_threadpool(os.fsync, file.fileno())
            await run_in_threadpool(check_archive, draft, UNPACKED_TIMES * most)
            most_of_user = limits.packages_mb * MEBIBYTE
            await run_in_threadpool(server.packages.store, user, name, draft, most_of_user, needed)
    except ArchiveProblem as problem:
        raise InputError("bad-request", f"package {name}: {problem}") from None
    except OSError as error:
        raise InputError(
            "disk-full", f"the package cannot be written: {error.strerror}; nothing was kept"
        ) from error
    return Response()


async def fetch_package(request: Request) -> Response:
    """GET /applications/ID/packages/SHA256: a zip file that the application's Ray job needs."""
    read_parameters(request)
    application = read_application(request)
    digest = request.path_params["digest"]
    server = server_of(request)
    driver = application.submission.driver
    job = None if driver is None else job_of(driver.arguments)
    path = server.packages.path(digest)
    if job is None or digest not in job.packages.values() or not path.is_file():
        raise InputError(
            "unknown-package",
            f"application {application.id} needs no package {digest:.64}, or it was deleted a week"
            " after its last use: upload it again",
        )
    size = await run_in_threadpool(size_of, path)
    return file_answer(path, 0, size, 200, {}, "application/octet-stream")


def _name_of(request: Request) -> str:
    name: str = request.path_params["package"]
    protocol = request.path_params["protocol"]
    if protocol != PROTOCOL or NAME.fullmatch(name) is None:
        raise InputError(
            "bad-request",
            f"package {protocol:.20}://{name:.100}: only zip files are taken, as"
            f" {PROTOCOL}://NAME.zip",
        )
    return name


def _too_large(most: int) -> InputError:
    return InputError(
        "package-too-large",
        f"the package is larger than {most} bytes: leave out files (.rayignore, excludes), have the"
        " job read large data from elsewhere, or raise package_mb below [limits] in fairshare.toml",
    )


OWN_ROUTES = [
    get(
        "/applications/{application}/packages/{digest}",
        fetch_package,
        "containers",
        "application/octet-stream",
    )
]
"""The path below `/api/v1`."""
