"""Owns what is known of a caller: a name that was proven, and how."""

import msgspec

from fairshare.model.identifiers import ApplicationId


class Identity(msgspec.Struct, frozen=True):
    """Who calls. `proof` says how that is known (`token 1a2b3c4d`, `proxy 10.0.0.1`, `driver`).

    `application` is set for a driver: it may do what is its own application's, and nothing else.
    """

    user: str
    administrator: bool = False
    proof: str = ""
    application: ApplicationId | None = None
