"""The entrypoint of a Ray job, in the first container of its application: `python -m
fairshare.ray.job OPTIONS`, which the Ray program's driver runs.

Fetches and unpacks the packages of the job, tells Ray about them (so that the tasks of the program
find the same files on every worker), and becomes the entrypoint. What it prints is the job's log.
"""

import itertools
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

import httpx
import msgspec

from fairshare.api.ray_programs import Job
from fairshare.client.discovery import (
    APPLICATION_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    checked_urls,
    published_url,
)
from fairshare.client.exchange import segment
from fairshare.client.httpx_exchange import manners
from fairshare.errors import FairshareError
from fairshare.server.archives import unpack
from fairshare.wording import failed_call

JOB_CONFIG: Final = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""The variable by which Ray learns of a job's runtime environment and metadata."""

WAIT_S: Final = 60.0
"""How long a server that does not answer is asked again: it may be starting."""
PAUSE_S: Final = 1.0
CANNOT_START: Final = 127


class PackageGone(FairshareError):
    """A package that cannot be had."""


def main(options: str) -> NoReturn:
    """Become the entrypoint, or end with `CANNOT_START`."""
    job = msgspec.json.decode(options, type=Job)
    os.dup2(1, 2)  # a job has one log
    folder = Path.cwd() / "ray-job"
    try:
        paths = {}
        for number, (uri, digest) in enumerate(job.packages.items()):
            archive = folder / f"{number}.zip"
            fetch(digest, archive)
            paths[uri] = folder / f"{number}"
            unpack(archive, paths[uri], sys.maxsize)  # the server has checked its size
            archive.unlink()
    except (FairshareError, OSError) as error:
        reason = failed_call(error) if isinstance(error, OSError) else error
        print(f"fairshare: the files of the job cannot be had: {reason}", flush=True)
        sys.exit(CANNOT_START)
    environment = environment_of(job, paths, os.environ)
    working_dir = job.runtime_env.get("working_dir")
    if working_dir:
        os.chdir(paths[working_dir])
    print(f"Running entrypoint for job {job.submission_id}: {job.entrypoint}", flush=True)
    become(job.entrypoint, environment)


def become(line: str, environment: Mapping[str, str]) -> NoReturn:
    """Go on as a shell that runs a line."""
    os.execve("/bin/sh", ("/bin/sh", "-c", line), environment)  # noqa: S606


def environment_of(
    job: Job, paths: Mapping[str, Path], environment: Mapping[str, str]
) -> dict[str, str]:
    """The environment of the entrypoint; `paths` are the unpacked packages. In PATH the Python that
    has Ray comes first, unless the job sets PATH."""
    runtime_env: dict[str, Any] = {}
    search = []
    working_dir = job.runtime_env.get("working_dir")
    if working_dir:
        runtime_env["working_dir"] = str(paths[working_dir])
        search.append(str(paths[working_dir]))
    folders = [paths[uri] for uri in job.runtime_env.get("py_modules") or ()]
    if folders:
        search += map(str, folders)
        runtime_env["py_modules"] = [
            str(module)
            for folder in folders
            for module in sorted(folder.iterdir())
            if module.is_dir() or module.suffix == ".py"
        ]
    variables = {name: environment[name] for name in job.variables if name in environment}
    if variables:
        runtime_env["env_vars"] = variables
    names = {"job_submission_id": job.submission_id, "job_name": job.submission_id}
    config = {"runtime_env": runtime_env, "metadata": names | job.metadata}
    programs = environment.get("PATH", os.defpath)
    if "PATH" not in job.variables:
        programs = f"{Path(sys.executable).parent}{os.pathsep}{programs}"
    if environment.get("PYTHONPATH"):
        search.append(environment["PYTHONPATH"])
    return {
        **environment,
        "PATH": programs,
        "PYTHONUNBUFFERED": "1",
        JOB_CONFIG: msgspec.json.encode(config).decode(),
        **({"PYTHONPATH": os.pathsep.join(search)} if search else {}),
    }


def fetch(digest: str, target: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Have the server send a package; raises PackageGone."""
    target.parent.mkdir(parents=True, exist_ok=True)
    path = f"/applications/{segment(environment[APPLICATION_VARIABLE])}/packages/{digest}"
    end_s = time.monotonic() + WAIT_S
    known = checked_urls(environment[URL_VARIABLE], URL_VARIABLE)
    published = published_url(environment)
    for url in itertools.cycle(known if published is None else (*known, published)):
        try:
            _receive(url, environment[TOKEN_VARIABLE], path, target)
        except httpx.HTTPError as error:
            if time.monotonic() > end_s:
                raise PackageGone(f"{url} does not send it: {error}") from error
            time.sleep(PAUSE_S)
        else:
            return


def _receive(url: str, token: str, path: str, target: Path) -> None:
    with (
        httpx.Client(**manners(url, token)) as client,
        client.stream("GET", path) as response,
        target.open("wb") as file,
    ):
        if response.is_client_error:
            response.read()
            raise PackageGone(f"HTTP {response.status_code}: {response.text[:1_000]}")
        response.raise_for_status()
        for piece in response.iter_bytes():
            file.write(piece)


if __name__ == "__main__":
    main(sys.argv[1])
