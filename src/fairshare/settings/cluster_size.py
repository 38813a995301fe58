"""Owns the size of a cluster as a user describes it, as a vector of resource types."""

from collections.abc import Mapping

from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.errors import FairshareError


class UnknownResourceType(FairshareError):
    """The size of the cluster names a type that the configuration does not have."""


def cluster_of(cluster: Mapping[str, int] | None, types: ResourceTypes) -> Resource | None:
    """The vector of a described cluster; types that are not named are 0."""
    if cluster is None:
        return None
    try:
        return types.vector(cluster)
    except KeyError as error:
        known = ", ".join(types.names)
        message = f"there is no resource type {error.args[0]!r} (there are {known})"
        raise UnknownResourceType(message) from error
