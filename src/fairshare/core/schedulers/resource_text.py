"""Owns the text of a resource in Hadoop's messages and logs. Knows no scheduler."""

from fairshare.core.model.resources import Resource, ResourceTypes

_MOST_VCORES = 2**31 - 1


def resource_text(resource: Resource, types: ResourceTypes) -> str:
    """`<memory:4096, vCores:4>`; further types follow unless they are 0, with their unit.

    >>> resource_text((1024, 2, 3), ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", "")))
    '<memory:1024, vCores:2, gpu: 3>'
    """
    text = f"memory:{resource[0]}, vCores:{min(resource[1], _MOST_VCORES)}"
    for name, unit, amount in zip(types.names[2:], types.units[2:], resource[2:], strict=True):
        if amount:
            text += f", {name}: {amount}{unit}"
    return f"<{text}>"
