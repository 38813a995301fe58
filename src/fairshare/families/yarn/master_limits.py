"""Owns the limits for masters of one leaf, as YARN's documents show them."""

import msgspec

from fairshare.model.resources import Resource


class MasterLimit(msgspec.Struct, frozen=True):
    """The limits for all masters of a leaf, for those of one user, and for each present user."""

    masters: Resource
    user: Resource
    users: dict[str, Resource]
