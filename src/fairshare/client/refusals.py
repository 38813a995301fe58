"""Owns plain words for refusals that Hadoop words at length. Knows no server.

Hadoop's own words remain in the REST interfaces and in `fairshare yarn`, where programs and users
of YARN look for them.
"""

import re
from typing import Final

_NOTHING = re.compile(r"because queue (\S+) has 0 amount of resource for a resource type!")
_TOO_LARGE = re.compile(
    r"Requested resource type=\[([^\]]+)\], Requested resource=<([^>]+)>, maximum allowed"
    r" allocation=<([^>]+)>"
)
_AMOUNT = re.compile(r"([^\s,:]+):\s*(\d+)")
_TYPE = re.compile(r"\bname: ([^,\s]+), units:")
_NAMES: Final = {"memory-mb": "memory", "vcores": "vCores"}
_PROPERTIES: Final = {
    "memory-mb": "yarn.scheduler.maximum-allocation-mb",
    "vcores": "yarn.scheduler.maximum-allocation-vcores",
}


def in_plain_words(message: str) -> str:
    """A refusal in plain words; a message without Hadoop's stays as it is.

    For a queue with a maximum of 0 of a type: `queue root.a may have no vcores (its maximum is 0):
    submit to another queue, ...`
    """
    large = _TOO_LARGE.search(message)
    if large is not None:
        name = large[1]
        wanted, most = _amount(large[2], name), _amount(large[3], name)
        raised = _PROPERTIES.get(name, f"yarn.resource-types.{name}.maximum-allocation")
        return (
            f"a container with {wanted} is larger than any may be: the most is {most}. Request"
            f" smaller containers, or have {raised} and the nodes enlarged"
        )
    found = _NOTHING.search(message)
    if found is None:
        return message
    types = " and no ".join(dict.fromkeys(_TYPE.findall(message))) or "such resources"
    return (
        f"queue {found[1]} may have no {types} (its maximum is 0): submit to another queue, or have"
        f" maxResources of {found[1]}, or of a queue above it, raised"
    )


def _amount(amounts: str, name: str) -> str:
    """The amount of a type in Hadoop's list: `memory:102400, vCores:1`."""
    found = dict(_AMOUNT.findall(amounts)).get(_NAMES.get(name, name), "?")
    if name != "memory-mb" or not found.isdigit():
        return f"{found} {'vcores' if name == 'vcores' else name}"
    mb = int(found)
    return (
        f"{mb} MB of memory"
        if mb < 10_240
        else f"{mb / 1024:,.1f}".removesuffix(".0") + " GB of memory"
    )
