"""Owns fairshare.toml: what Hadoop has no name for, with its defaults.

Knows nothing of what a server or an engine does with the values.
"""

import re
import tomllib
from typing import Any, Final, Literal

import msgspec

from fairshare.config.problems import Place, Problems

FILE: Final = "fairshare.toml"


class ServerSettings(msgspec.Struct, frozen=True):
    """Where the server listens and keeps its record; None: the server's own choice of a place."""

    host: str = "127.0.0.1"
    port: int = 8088  # 0: any that is free
    state_directory: str | None = None


class EngineSettings(msgspec.Struct, frozen=True):
    """What runs containers. Sizes are those of one node; None: what this machine has."""

    kind: Literal["local"] = "local"
    nodes: int = 1
    memory_mb: int | None = None
    vcores: int | None = None


class ShellSettings(msgspec.Struct, frozen=True):
    """Everything of fairshare.toml."""

    server: ServerSettings = ServerSettings()
    engine: EngineSettings = EngineSettings()


# Section, key: type and the smallest and largest value of a number.
_KEYS: Final[dict[str, dict[str, tuple[type, int, int]]]] = {
    "server": {"host": (str, 0, 0), "port": (int, 0, 65535), "state_directory": (str, 0, 0)},
    "engine": {
        "kind": (str, 0, 0),
        "nodes": (int, 1, 10_000),
        "memory_mb": (int, 1, 2**40),
        "vcores": (int, 1, 2**31 - 1),
    },
}
_KINDS: Final = ("local",)
_WORDS: Final = {str: "a text", int: "a whole number"}

_SECTION = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*(?:\.|=)""")


def read_shell(
    document: bytes | None, file: str, problems: Problems, default_port: int | None = None
) -> ShellSettings:
    """The settings of a fairshare.toml; None: there is no such file.

    `default_port` is the port that counts when the file names none.
    """
    tables: dict[str, Any] = {}
    text = ""
    try:
        text = (document or b"").decode()
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        # Without a place the message says "at end of document".
        last = len(text.splitlines())
        line, column = (int(found.group(1)), int(found.group(2))) if found else (last, 0)
        problems.error(Place(file, line, column), "toml", f"not well-formed TOML: {error}")
    except UnicodeDecodeError as error:
        problems.error(Place(file), "toml", f"the file is not UTF-8: {error}")
    values: dict[str, dict[str, Any]] = {section: {} for section in _KEYS}
    for section, table in tables.items():
        keys = _KEYS.get(section)
        if keys is None or not isinstance(table, dict):
            known = ", ".join(f"[{name}]" for name in _KEYS)
            place = Place(file, _line(text, section, None))
            problems.error(place, "toml-key", f"{section!r} is unknown: there are {known}")
            continue
        for key, value in table.items():
            place = Place(file, _line(text, section, key))
            message = _wrong(section, key, value)
            if message:
                problems.error(place, "toml-key", message)
            else:
                values[section][key] = value
    if default_port is not None:
        values["server"].setdefault("port", default_port)
    return ShellSettings(ServerSettings(**values["server"]), EngineSettings(**values["engine"]))


def _wrong(section: str, key: str, value: object) -> str:
    """What is wrong with a value; empty if it can be used."""
    keys = _KEYS[section]
    if key not in keys:
        return f"{key!r} is unknown in [{section}]: there are {', '.join(keys)}"
    kind, smallest, largest = keys[key]
    # In Python a truth value is a whole number, in a file it is a mistake.
    if not isinstance(value, kind) or isinstance(value, bool):
        return f"{key} must be {_WORDS[kind]}, not {value!r}"
    if isinstance(value, int) and not smallest <= value <= largest:
        return f"{key} must be {smallest} to {largest}, not {value}"
    if isinstance(value, str) and not value.strip():
        return f"{key} must not be empty"
    if key == "kind" and value not in _KINDS:
        return f"there is no engine {value!r}: there is {', '.join(_KINDS)}"
    return ""


def _line(text: str, section: str, key: str | None) -> int:
    """The line of a key in a section (of the section itself for None); 0 if it is not found."""
    current, section_line = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        header = _SECTION.fullmatch(line)
        if header:
            current = header.group(1).strip("\"'")
            if current == section and not section_line:
                section_line = number
            continue
        found = _KEY.match(line)
        if not found:
            continue
        if current == section and key is not None and found.group(1) == key:
            return number
        if not current and found.group(1) == section:
            # server.port = 1, or server = {port = 1}
            section_line = section_line or number
    return section_line
