"""The list of workload formats. A new format is one module and one line here."""

from collections.abc import Callable
from pathlib import Path

from fairshare.documents.problems import Place, Problems
from fairshare.lab.simulate.readers.options import ReaderOptions
from fairshare.lab.simulate.readers.own import read_json_lines, read_yaml
from fairshare.lab.simulate.readers.swf import read_swf
from fairshare.lab.simulate.workload import Workload

Reader = Callable[[Path, ReaderOptions, Problems], Workload]

READERS: dict[str, Reader] = {
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".json": read_yaml,  # JSON is YAML
    ".jsonl": read_json_lines,
    ".swf": read_swf,
}
"""By suffix. Each also reads compressed files, with the additional suffix `.gz`."""


def read_workload(path: Path, options: ReaderOptions) -> Workload:
    """Read a workload; the suffix of the name determines the format.

    Raises ConfigurationError with every problem of the file, each with its line.
    """
    problems = Problems()
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    reader = READERS.get(suffixes[-1]) if suffixes else None
    if reader is None:
        problems.error(
            Place(str(path)),
            "workload-format",
            f"the name must end in one of {', '.join(READERS)}, or that and .gz",
        )
        problems.raise_errors()
        raise AssertionError("an error was reported")
    workload = reader(path, options, problems)
    problems.raise_errors()
    return workload
