"""The files of scenarios: where they are found, and configuration files that a scenario names
instead of having their texts in it.

A value of `config`, `reload` or `write` that is one line without `<` is the path of a file, from
the directory of the scenario; a `config` that is a text is the path of a directory. Afterwards the
document has the texts, and its readers know nothing of files.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.wording import cause

RULE: Final = "scenario"
"""The rule of all mistakes in scenarios."""


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The files in the order of the arguments, those of a directory by name; none twice."""
    files: dict[Path, None] = {}
    for path in paths:
        below = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        files.update(dict.fromkeys(below))
    return list(files)


def base_directory(files: Iterable[Path]) -> Path:
    """The deepest directory that all files are in; their records keep the paths below it."""
    parents = [str(path.parent) for path in files]
    return Path(os.path.commonpath(parents)) if parents else Path()


MOST_BYTES: Final = 10_000_000
"""The maximum size of a file, which is some hundred times that of a large cluster's."""


def fill_in(root: Node, names: Iterable[str], directory: Path | None, problems: Problems) -> None:
    """Replace paths below `config`, `reload` and `write` by texts. `names` are the files that a
    directory may have; `directory` is the scenario's, None if it is not a file itself."""
    fields = tuple(names)
    config = (root.entries or {}).get("config")
    if config is not None and config.is_scalar and not config.empty:
        _read_directory(config, fields, directory, problems)
    for files in _mappings(root):
        for name, node in (files.entries or {}).items():
            if name in fields and _is_path(node):
                path = _path_of(node, directory, problems)
                _replace(node, "" if path is None else _text_in(path, node, problems))


def _mappings(root: Node) -> Iterator[Node]:
    entries = root.entries or {}
    if "config" in entries:
        yield entries["config"]
    steps = entries.get("steps")
    for step in (steps and steps.items) or ():
        for kind in ("reload", "write"):
            if kind in (step.entries or {}):
                yield (step.entries or {})[kind]


def _is_path(node: Node) -> bool:
    written = node.text.strip()
    return node.is_scalar and bool(written) and "<" not in written and "\n" not in written


def _replace(node: Node, text: str) -> None:
    node.text = node.scalar = text


def _path_of(node: Node, directory: Path | None, problems: Problems) -> Path | None:
    if directory is None:
        message = f"{node.text!r} is a path, and a scenario that is not a file has none: write XML"
        problems.error(node.place, RULE, message)
        return None
    return directory / node.text.strip()


def _text_in(path: Path, node: Node, problems: Problems) -> str:
    try:
        found = _bytes_of(path)
        if len(found) <= MOST_BYTES:
            return found.decode()
        reason = f"it has more than {MOST_BYTES:,} bytes"
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a path with a zero byte
        reason = cause(error)
    message = (
        f"cannot read {path}: {reason}. Write the path of a file, from the directory of this"
        " scenario, or XML"
    )
    problems.error(node.place, RULE, message)
    return ""


def _bytes_of(path: Path) -> bytes:
    """One byte more than the maximum at most. Opening a pipe would wait for its writer."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _read_directory(
    config: Node, known: tuple[str, ...], directory: Path | None, problems: Problems
) -> None:
    """Make `config` a mapping of the files that are in the directory that it names."""
    config.entries = {}
    path = _path_of(config, directory, problems)
    if path is None:
        return
    try:
        present = {entry.name for entry in path.iterdir()}
    except (OSError, ValueError) as error:
        message = (
            f"config: cannot read {path}: {cause(error)}. Write a directory, from the directory of"
            " this scenario, or a mapping of files by name"
        )
        problems.error(config.place, RULE, message)
        return
    present_names = [name for name in known if name in present]
    if not present_names:
        message = f"config: none of {', '.join(known)} is in {path}"
        problems.error(config.place, RULE, message)
    for name in present_names:
        node = Node(config.place)
        _replace(node, _text_in(path / name, config, problems))
        config.entries[name] = node
        config.keys[name] = config.place
