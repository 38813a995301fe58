"""Owns plain explanations of refusals in Hadoop's long wording.

Hadoop's text follows unchanged, since users search for it. Knows no server.
"""

import re

_NOTHING = re.compile(r"because queue (\S+) has 0 amount of resource for a resource type!")
_TOO_LARGE = re.compile(
    r"Requested resource type=\[([^\]]+)\], Requested resource=<([^>]+)>, maximum allowed"
    r" allocation=<([^>]+)>"
)
_TYPE = re.compile(r"\bname: ([^,\s]+), units:")


def explained(message: str) -> str:
    """A refusal, preceded by an explanation if Hadoop's text does not say what to do.

    For a queue with a maximum of 0 of a type: `queue root.a may have no vcores (its maximum is 0):
    ...`
    """
    large = _TOO_LARGE.search(message)
    if large is not None:
        return (
            f"a container of {large[2]} is larger than any may be, in {large[1]}: the largest is"
            f" {large[3]}. Ask for smaller ones; yarn.scheduler.maximum-allocation-... and the"
            f" nodes say how large they may be. In Hadoop's words: {message}"
        )
    found = _NOTHING.search(message)
    if found is None:
        return message
    types = " and no ".join(dict.fromkeys(_TYPE.findall(message))) or "such resources"
    return (
        f"queue {found[1]} may have no {types} (its maximum is 0): submit to another queue, or have"
        f" maxResources of {found[1]}, or of a queue above it, raised. In Hadoop's words: {message}"
    )
