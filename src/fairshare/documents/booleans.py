"""Owns how truth values are written in YAML files that are ours: jobs, scenarios, workloads.

    true | yes | on        false | no | off        in upper or lower case

Only where a truth value is wanted; elsewhere, as in `name: on`, such a word is a text. Knows no
file and no key.
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
    """The truth value of a word; raises ValueError that says what to write.

    >>> parse_boolean("true"), parse_boolean("Off")
    (True, False)
    """
    value = _WORDS.get(text.strip().lower())
    if value is None:
        raise ValueError(f"{text[:_LONGEST]!r} is neither true nor false: write true or false")
    return value
