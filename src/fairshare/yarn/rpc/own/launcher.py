"""The first program of a container with a launch context: `python launcher.py SPECIFICATION`.

It copies the context's files into its working directory or unpacks them, writes the tokens and the
script, and becomes the shell that runs it. So all this is done with the container's rights, and
within its limits. Standard library only. Source: Hadoop 3.4.1, yarn.util.FSDownload,
ContainerLaunch (expandEnvironment, sanitizeEnv, orderEnvByDependencies, UnixShellScriptBuilder).
"""

import base64
import contextlib
import json
import os
import re
import shutil
import stat
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairshare.wording import cause

_REFERENCE = re.compile(r"\\.|\$\{([A-Za-z_][A-Za-z0-9_]*)|\$([A-Za-z_][A-Za-z0-9_]*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def replaced(text: str, log_directory: str, opens: str) -> str:
    """`text` with what a NodeManager replaces: `<LOG_DIR>`, `<CPS>`, `<ADD_OPENS>`, `{{NAME}}`.

    >>> replaced("{{JAVA_HOME}}/bin/java <ADD_OPENS> 1><LOG_DIR>/out", "/logs", "-x")
    '$JAVA_HOME/bin/java -x 1>/logs/out'
    """
    for name, value in (("<LOG_DIR>", log_directory), ("<CPS>", ":"), ("<ADD_OPENS>", opens)):
        text = text.replace(name, value)
    return text.replace("{{", "$").replace("}}", "")


def references(value: str) -> list[str]:
    r"""The variables that a value in double quotes refers to.

    >>> references("$PWD:${CLASSPATH}/x:\\$HOME")
    ['PWD', 'CLASSPATH']
    """
    found = (match[1] or match[2] for match in _REFERENCE.finditer(value))
    return [name for name in found if name]


def ordered(variables: Mapping[str, str]) -> list[str]:
    """The names, each behind those that its value refers to, else as they came.

    >>> ordered({"A": "$B", "B": "$C", "C": "1", "D": "$D"})
    ['C', 'B', 'A', 'D']
    """
    done: dict[str, None] = {}
    begun: set[str] = set()
    for first in variables:
        waiting = [first]
        while waiting:
            name = waiting[-1]
            begun.add(name)
            needed = [
                other
                for other in references(variables[name])
                if other in variables and other not in begun
            ]
            if needed:
                waiting.append(needed[0])
            else:
                done[waiting.pop()] = None
    return list(done)


def script(
    commands: Iterable[str],
    environment: Mapping[str, str],
    fixed: Mapping[str, str],
    log_directory: str,
    opens: str,
) -> str:
    """The text of the script: `given` variables may refer to each other and to the `fixed` ones."""
    lines = ["#!/bin/bash", "set -o pipefail"]
    lines += [f"export {name}={_quoted(value)}" for name, value in fixed.items()]
    variables = {
        name: replaced(value, log_directory, opens)
        for name, value in environment.items()
        if _NAME.fullmatch(name) and name not in fixed
    }
    lines += [f'export {name}="{variables[name]}"' for name in ordered(variables)]
    command = " ".join(replaced(one, log_directory, opens) for one in commands)
    lines.append(f'exec /bin/bash -c "{command}"')
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


ARCHIVE, FILE, PATTERN = 1, 2, 3
"""LocalResourceTypeProto."""

_JAR = ".jar"
_ZIPS = (".zip", _JAR)
_TARS = (".tar", ".tar.gz", ".tgz")


class NotLocalized(Exception):
    """A resource cannot be had. The message says which, and why."""


def localize(resources: list[dict[str, Any]], directory: Path) -> None:
    """Put all resources into `directory` under their names. Raises NotLocalized.

    Each has `name`, `path`, `size` (-1: any), `timestamp_ms`, `type`, `pattern`, `public`.
    """
    for resource in resources:
        name = resource["name"]
        target = directory / name
        inside = Path(name)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts:
            raise NotLocalized(f"the resource {name!r} would lie outside of the container")
        source = Path(resource["path"])
        try:
            _check(source, resource)
            target.parent.mkdir(parents=True, exist_ok=True)
            _put(source, target, resource)
        except (OSError, tarfile.TarError, zipfile.BadZipFile, re.error) as error:
            raise NotLocalized(f"the resource {name!r}: {source}: {cause(error)}") from error


def _check(source: Path, resource: Mapping[str, object]) -> None:
    status = source.stat()
    changed_ms = status.st_mtime_ns // 1_000_000
    if changed_ms != resource["timestamp_ms"]:
        raise NotLocalized(
            f"Resource file:{source} changed on src filesystem - expected:"
            f" {resource['timestamp_ms']}, was: {changed_ms}"
        )
    if stat.S_ISREG(status.st_mode) and resource["size"] not in (-1, status.st_size):
        raise NotLocalized(
            f"Resource file:{source} has {status.st_size} bytes, not {resource['size']}"
        )
    if resource["public"] and not _is_public(source, status.st_mode):
        raise NotLocalized(
            f"Resource file:{source} is not publicly accessible and as such cannot be part of the"
            " public cache."
        )


def _is_public(source: Path, mode: int) -> bool:
    """Whether all users can read a file: FSDownload.isPublic."""
    parents = (parent.stat().st_mode for parent in source.absolute().parents)
    return bool(mode & stat.S_IROTH) and all(each & stat.S_IXOTH for each in parents)


def _put(source: Path, target: Path, resource: dict[str, Any]) -> None:
    """FSDownload.downloadAndUnpack: what it cannot unpack it copies, and of a pattern's archives
    only a jar is filtered, and kept beside what matches."""
    kind, name = resource["type"], source.name.lower()
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    elif kind not in (ARCHIVE, PATTERN) or not name.endswith((*_ZIPS, *_TARS)):
        shutil.copy2(source, target)
    else:
        target.mkdir(exist_ok=True)
        pattern = None
        if kind == PATTERN and name.endswith(_JAR):
            shutil.copy2(source, target / source.name)
            pattern = re.compile(resource["pattern"] or ".*")
        _unpack(source, target, pattern)
    _grant(target, public=resource["public"])


def _unpack(source: Path, target: Path, pattern: re.Pattern[str] | None) -> None:
    """Unpack an archive, or what of it matches."""
    if source.name.lower().endswith(_TARS):
        with tarfile.open(source) as archive:
            # The filters of the standard library begin with Python 3.11.4.
            archive.extraction_filter = lambda member, _: member
            for member in archive:
                archive.extract(_kept_inside(member, target.resolve()), target)
        return
    with zipfile.ZipFile(source) as zipped:
        for entry in zipped.infolist():
            if pattern is None or pattern.fullmatch(entry.filename):
                zipped.extract(entry, target)  # never outside of the target


def _kept_inside(member: tarfile.TarInfo, target: Path) -> tarfile.TarInfo:
    """A member of an archive as it is unpacked after those before it: by this account, which can
    write to it. Refused are devices, and what lies or leads outside of the target."""
    member.name = member.name.lstrip("/")
    place = target / member.name
    leads_to = place.resolve()
    if member.issym():
        leads_to = (place.parent / member.linkname).resolve()
    elif member.islnk():
        leads_to = (target / member.linkname).resolve()
    elif not member.isreg() and not member.isdir():
        raise tarfile.ExtractError(f"{member.name!r} is neither a file nor a directory nor a link")
    if not all(one.is_relative_to(target) for one in (place.parent.resolve(), leads_to)):
        raise tarfile.ExtractError(f"{member.name!r} would lie outside of it")
    member.mode, member.uid, member.gid = 0o700, os.getuid(), os.getgid()
    member.uname = member.gname = ""
    return member


def _grant(path: Path, *, public: bool) -> None:
    """The rights that FSDownload gives: all files can be run, none can be written."""
    if path.is_symlink():
        return
    if not path.is_dir():
        path.chmod(0o555 if public else 0o500)
        return
    path.chmod(0o755 if public else 0o700)
    for each in path.iterdir():
        _grant(each, public=public)


SCRIPT = "launch_container.sh"
TOKENS = "container_tokens"
LOGS = ".logs"
TEMPORARY = "tmp"
"""MapReduce's masters have their temporary files here, as in Hadoop's DefaultContainerExecutor."""

NOT_LOCALIZED = 1

_FIRST_MODULAR_JAVA = 17
_OPENS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED"
    " --add-exports=java.base/sun.net.dns=ALL-UNNAMED"
    " --add-exports=java.base/sun.net.util=ALL-UNNAMED"
)


def main(file: Path) -> None:
    """Prepare the working directory, and run. The specification has secrets and is deleted."""
    specification: dict[str, Any] = json.loads(file.read_bytes())
    with contextlib.suppress(OSError):  # of another account: the engine deletes it
        file.unlink()
    os.umask(0o077)
    here = Path.cwd()
    try:
        localize(specification["resources"], here)
        logs = _logs(here)
    except (NotLocalized, OSError) as problem:
        print(problem, file=sys.stderr)
        sys.exit(NOT_LOCALIZED)
    (here / TEMPORARY).mkdir(exist_ok=True)
    (here / TOKENS).write_bytes(base64.b64decode(specification["tokens"]))
    fixed = {
        **specification["fixed"],
        "PWD": str(here),
        "LOG_DIRS": str(logs),
        "HADOOP_TOKEN_FILE_LOCATION": str(here / TOKENS),
    }
    inherited, environment = specification["inherited"], specification["environment"]
    text = script(
        specification["commands"],
        environment,
        {**{name: value for name, value in inherited.items() if name not in environment}, **fixed},
        str(logs),
        _opens(environment.get("JAVA_HOME") or inherited.get("JAVA_HOME", "")),
    )
    (here / SCRIPT).write_text(text)
    os.execv("/bin/bash", ["bash", str(here / SCRIPT)])  # noqa: S606


def _logs(here: Path) -> Path:
    """The folder for logs; its `stdout` and `stderr` are those that the engine keeps."""
    logs = here / LOGS
    logs.mkdir(exist_ok=True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        with contextlib.suppress(FileExistsError):
            (logs / name).symlink_to(Path(f"/proc/self/fd/{number}").readlink())
    return logs


def _opens(java_home: str) -> str:
    """The options that Hadoop gives to Java 17 and later; empty for an older or unknown one."""
    if not java_home or "$" in java_home or "{" in java_home:
        program = shutil.which("java")
        java_home = str(Path(program).resolve().parents[1]) if program else ""
    try:
        release = (Path(java_home) / "release").read_text()
    except OSError:
        return ""
    found = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return _OPENS if found and int(found[1]) >= _FIRST_MODULAR_JAVA else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
