"""Owns the identity of a caller: the authenticated name, and the kind of proof."""

import msgspec

from fairshare.core.model.identifiers import ApplicationId


class Identity(msgspec.Struct, frozen=True):
    """An authenticated caller. `proof` says by which credential (`token 1a2b3c4d`, `proxy
    10.0.0.1`, `driver`).

    `application` is set for a driver: it may only act on its own application.
    """

    user: str
    administrator: bool = False
    proof: str = ""
    application: ApplicationId | None = None
