"""Owns the grammar of booleans in fairshare's own YAML files: jobs, scenarios, workloads.

    true | yes | on        false | no | off        in upper or lower case

Applies only to keys that take a boolean; elsewhere, as in `name: on`, such a word is a string.
Knows neither files nor keys.
"""

from typing import Final

_WORDS: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}
_LONGEST: Final = 40


def parse_boolean(text: str) -> bool:
    """Parse a boolean; raises ValueError with a message that says what to write.

    >>> parse_boolean("true"), parse_boolean("Off")
    (True, False)
    """
    value = _WORDS.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text[:_LONGEST]!r} is neither true nor false: write true or false")
    return value
