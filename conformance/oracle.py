"""Owns the oracle as a program: where it is, what it needs, how it is run.

The oracle is a folder with `run` (Hadoop's schedulers behind scenario files, on Java) and
`generate.py` (random scenarios). Knows nothing of what scenarios and records mean.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Document = dict[str, Any]
"""A scenario as plain data."""

NEEDED_JAVA = 17


class OracleError(Exception):
    """The oracle cannot be run; the message says what to do."""


class Oracle:
    """An oracle's folder, ready to run. Raises OracleError if something that it needs is absent.

    `run` keeps what it builds inside of its folder, so a folder that cannot be written to is
    copied to `build/oracle` of the working directory first.
    """

    def __init__(self, folder: Path) -> None:
        for name in ("run", "generate.py"):
            if not (folder / name).is_file():
                raise OracleError(f"{folder} is not the oracle's folder: it has no {name}")
        _need_java()
        self.folder = (folder if os.access(folder, os.W_OK) else _copy(folder)).absolute()

    def generate(self, arguments: Iterable[str], into: Path) -> None:
        """Let the generator write scenarios into a folder."""
        command = [sys.executable, str(self.folder / "generate.py"), *arguments, "--out", str(into)]
        subprocess.run(command, check=True)

    def record(self, documents: Mapping[str, Document]) -> dict[str, Document]:
        """The records of scenarios by their names: one call, one process for all of them."""
        with self.recording(documents) as records:
            return dict(records)

    @contextmanager
    def recording(self, documents: Mapping[str, Document]) -> Iterator[Iterator[tuple[str, Any]]]:
        """As `record`, but the oracle works while the body of the `with` has not asked yet."""
        with tempfile.TemporaryDirectory(prefix="conformance-") as name:
            scenarios, records = Path(name, "scenarios"), Path(name, "records")
            scenarios.mkdir()
            records.mkdir()
            for key, document in documents.items():
                text = json.dumps({**document, "scenario": 1})
                (scenarios / f"{key}.yaml").write_text(text)
            command = [str(self.folder / "run"), "record", str(scenarios), "--out", str(records)]
            with subprocess.Popen(command, start_new_session=True) as process:
                try:
                    yield self._results(process, records, documents)
                finally:
                    if process.poll() is None:
                        process.terminate()

    def _results(
        self, process: subprocess.Popen[bytes], records: Path, documents: Iterable[str]
    ) -> Iterator[tuple[str, Any]]:
        if process.wait():
            raise OracleError(f"{self.folder / 'run'} ended with exit code {process.returncode}")
        for name in documents:
            yield name, json.loads((records / f"{name}.json").read_text())


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
