"""The patterns of output files: `job-%j-%t.out`.

%j  the number of the application       %a  its id       %n  its name
%t  the index of the task               %u  its user     %%  a percent sign
"""

import re
from collections.abc import Mapping

LETTERS = "jantu"

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_PLACE = "%(.?)"


def check_pattern(pattern: str) -> None:
    """Raise ValueError for a percent sign that means nothing.

    >>> check_pattern("job-%j-%t.out")
    >>> check_pattern("100%")
    Traceback (most recent call last):
    ...
    ValueError: '100%' has a percent sign that means nothing: write %j, %a, %n, %t, %u, or %%
    """
    known = {*LETTERS, "%"}
    if any(found[1] not in known for found in re.finditer(_PLACE, pattern, re.DOTALL)):
        places = ", ".join(f"%{letter}" for letter in LETTERS)
        raise ValueError(
            f"{pattern!r} has a percent sign that means nothing: write {places}, or %%"
        )


def literal(name: str) -> str:
    """The pattern that means just this name: `literal("100%") == "100%%"`."""
    return name.replace("%", "%%")


def expand(pattern: str, values: Mapping[str, str]) -> str:
    """The name of a file; a slash in a value is not one of a directory.

    >>> expand("out/%n-%t.log", {"n": "a/b", "t": "7"})
    'out/a_b-7.log'
    """

    def value(found: re.Match[str]) -> str:
        letter = found[1]
        return "%" if letter == "%" else values.get(letter, "").replace("/", "_")

    return re.sub(_PLACE, value, pattern, flags=re.DOTALL)
