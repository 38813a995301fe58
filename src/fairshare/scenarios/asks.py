"""Owns the way from a scenario's asks to the manager's requests. Adds and withdraws nothing itself:
how counts add up is the manager's rule (`model/work.py`, ContainerRequest)."""

from collections.abc import Iterable

from fairshare.errors import InputError
from fairshare.model.resources import Resource, ResourceTypes
from fairshare.model.work import ContainerRequest
from fairshare.scenarios.fields import unknown_word
from fairshare.scenarios.steps import Amounts, Ask


def vector(types: ResourceTypes, amounts: Amounts) -> Resource:
    """Named amounts as a vector; raises InputError for a type that the cluster does not have."""
    try:
        return types.vector(amounts)
    except KeyError as error:
        message = unknown_word("resource type", str(error.args[0]), types.names)
        raise InputError("unknown-resource-type", message) from error


def requests(types: ResourceTypes, asks: Iterable[Ask]) -> tuple[ContainerRequest, ...]:
    """One request for each ask, in their order."""
    return tuple(
        ContainerRequest(
            count=ask.count,
            resource=vector(types, ask.resources),
            priority=ask.priority,
            hosts=ask.hosts,
            racks=ask.racks,
            relax=ask.relax,
            request=ask.request,
            location=ask.location,
            label=ask.label,
        )
        for ask in asks
    )
