"""Owns where things stand in a TOML file, which its parser does not tell. Knows no key by name."""

import re
from typing import Final

from fairshare.config.problems import Place

_SECTION: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?")
_KEY: Final = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z0-9_-]+))\s*(?:\.|=)""")


def place_of(text: str, file: str, section: str, key: str | None = None) -> Place:
    """The place of a key in a section, as near as it can be found: else that of the section.

    A section within another is written with a period: `engine.resources`.
    """
    line = _line(text, section, key)
    while not line and "." in section:
        section, _, key = section.rpartition(".")
        line = _line(text, section, key)
    return Place(file, line)


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
        name = next(group for group in found.groups() if group is not None)
        if current == section and key is not None and name == key:
            return number
        if not current and name == section:
            # server.port = 1, or server = {port = 1}
            section_line = section_line or number
    return section_line
