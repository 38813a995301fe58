"""The list of samples from which our answers differ knowingly: docs/hadoop-differences.md."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "hadoop-differences.md"
SECTION = "## Answers of YARN's REST interface"
END_OF_TABLE = "Not covered by the samples:"


def known_patterns(text: str) -> list[str]:
    """The names in the last column of the section's first table; `*` stands for anything."""
    section = text.split(SECTION, 1)[1].split("\n## ", 1)[0].split(END_OF_TABLE, 1)[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])]


def unknown_differences(differing: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Samples that differ and stand in no row."""
    known = list(patterns)
    return [name for name in differing if not any(fnmatchcase(name, one) for one in known)]


def obsolete_patterns(differing: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Names in the rows of samples that agree by now."""
    names = list(differing)
    return [one for one in patterns if not any(fnmatchcase(name, one) for name in names)]
