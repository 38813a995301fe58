"""The oracle as a program: where it is, what it needs, how it is run.

The oracle is a folder with `run` (Hadoop's schedulers behind scenario files, on Java),
`generate.py` and `generate_wide.py` (random scenarios). Knows nothing of what scenarios and records
mean.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Document = dict[str, Any]
"""A scenario as plain data."""

NEEDED_JAVA = 17

LEGACY_MODE = "yarn.scheduler.capacity.legacy-queue-mode.enabled"
YARN_SITE = "yarn-site.xml"

GENERATORS = {"base": "generate.py", "wide": "generate_wide.py"}
"""The programs that write random scenarios: what is common, and what is rare."""


class OracleError(Exception):
    """The oracle cannot be run; the message says what to do."""


class Oracle:
    """An oracle's folder, ready to run. Raises OracleError if something that it needs is absent.

    `run` keeps what it builds inside of its folder, so a folder that cannot be written to is
    copied to `build/oracle` of the working directory first. `patience_s`: how long it may take over
    one scenario; some heartbeats of Hadoop's Capacity Scheduler never end.
    """

    def __init__(self, folder: Path, *, patience_s: float = 120.0) -> None:
        for name in ("run", "generate.py"):
            if not (folder / name).is_file():
                raise OracleError(f"{folder} is not the oracle's folder: it has no {name}")
        _need_java()
        self.patience_s = patience_s
        self.folder = (folder if os.access(folder, os.W_OK) else _copy(folder)).absolute()

    def generate(self, generator: str, arguments: Iterable[str], into: Path) -> None:
        """Let a generator write scenarios into a folder; raises OracleError if it does not."""
        program = self.folder / GENERATORS[generator]
        if not program.is_file():
            raise OracleError(f"{self.folder} has no {program.name}: its copy is an older one")
        command = [sys.executable, str(program), *arguments, "--out", str(into)]
        process = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if process.returncode:
            raise OracleError(f"{program.name} cannot write these scenarios: {process.stderr}")

    def record(self, documents: Mapping[str, Document]) -> dict[str, Document]:
        """The records of scenarios by their names: one call, one process for all of them.

        Where Hadoop itself fails, the process ends, and where it does not end by itself it is
        ended: that scenario's record says `unsupported`, and those behind it are run again.
        """
        found: dict[str, Document] = {}
        while left := {name: one for name, one in documents.items() if name not in found}:
            with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
                failed_on = self._record(left, Path(folder), found)
            if failed_on is not None:
                found[failed_on] = {"unsupported": "Hadoop's classes fail on it, or never end"}
        return found

    def _record(
        self, documents: Mapping[str, Document], folder: Path, found: dict[str, Document]
    ) -> str | None:
        scenarios, records = folder / "scenarios", folder / "records"
        for path in (scenarios, records):
            path.mkdir()
        for name, document in documents.items():
            given = {**as_installed(document), "scenario": 1}
            (scenarios / f"{name}.yaml").write_text(json.dumps(given))
        command = [str(self.folder / "run"), "record", str(scenarios), "--out", str(records)]
        status, told = self._run(command, records)
        for path in records.glob("*.json"):
            found[path.stem] = json.loads(path.read_text())
        if status is None:
            return min((name for name in documents if name not in found), key=_order(documents))
        if status == 0:
            return None
        culprit = re.search(r"scenarios/(\S+)\.yaml", told)
        if culprit is None or culprit[1] in found:
            raise OracleError(f"{command[0]} ended with {status}:\n{told}")
        return culprit[1]

    def _run(self, command: list[str], records: Path) -> tuple[int | None, str]:
        """The exit status and what was told; None: no record was written for too long."""
        with tempfile.TemporaryFile("w+") as told:
            process = subprocess.Popen(command, stderr=told, start_new_session=True)
            written = -1
            while process.returncode is None:
                before, written = written, len(list(records.iterdir()))
                try:
                    process.wait(self.patience_s)
                except subprocess.TimeoutExpired:
                    if written == before:
                        os.killpg(process.pid, signal.SIGKILL)
                        process.wait()
                        return None, ""
                except BaseException:
                    os.killpg(process.pid, signal.SIGKILL)
                    raise
            told.seek(0)
            return process.returncode, told.read()


def _order(documents: Mapping[str, Document]) -> Callable[[str], tuple[list[str], str]]:
    """The order in which the oracle runs scenarios: by their resource types, then by name."""

    def key(name: str) -> tuple[list[str], str]:
        properties = documents[name].get("properties") or {}
        types = [f"{one}={properties[one]}" for one in sorted(properties)]
        return [one for one in types if one.startswith("yarn.resource-types")], name

    return key


def as_installed(document: Document) -> Document:
    """A scenario with the queue mode where Hadoop's classes find it.

    They ask capacity-scheduler.xml on the class path once more (`CapacitySchedulerQueueManager`).
    The oracle has none there, so that half of Hadoop would be in legacy mode, and queues with
    percentages or weights alone would have the capacity 0. They look into yarn-site.xml as well.
    With that the oracle gives the answers that a real ResourceManager gave for such a file.
    """
    mode = document.get("properties", {}).get(LEGACY_MODE)
    if mode is None:
        return document
    value = str(mode).lower()
    line = f"<property><name>{LEGACY_MODE}</name><value>{value}</value></property>"
    config = document.get("config", {})
    site = config.get(YARN_SITE, "<configuration></configuration>")
    site = site.replace("</configuration>", f"{line}</configuration>")
    return {**document, "config": {**config, YARN_SITE: site}}


def _need_java() -> None:
    advice = f"the oracle runs Hadoop's classes: install Java {NEEDED_JAVA} or later, and Maven"
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise OracleError(f"{program} is not there; {advice}")
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < NEEDED_JAVA:
        raise OracleError(f"java is {told.splitlines()[0] if told else 'unknown'}; {advice}")


def _copy(folder: Path) -> Path:
    copy = Path("build", "oracle")
    shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=_copy_writable)
    for directory in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        directory.chmod(0o755)
    return copy


def _copy_writable(source: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    shutil.copyfile(source, target)
    Path(target).chmod(0o755)
