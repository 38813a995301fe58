"""Owns the section [notify] of fairshare.toml. Knows nothing of how notices are sent."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class NotifySettings(msgspec.Struct, frozen=True):
    """Where notices about applications may go.

    Webhooks that begin with one of `webhooks` may go anywhere, others only to public addresses.
    Mail is sent through `smtp_host`, from `smtp_from`, only to `mail_domains` if there are any.
    Without `commands`, users cannot have commands run. `command` is run by the server as itself at
    the end of every application.
    """

    webhooks: tuple[str, ...] = ()
    smtp_host: str | None = None
    smtp_port: Annotated[int, Meta(ge=1, le=65_535)] = 25
    smtp_security: Literal["none", "starttls", "tls"] = "none"
    smtp_from: str | None = None
    smtp_user: str | None = None
    smtp_password_file: str | None = None
    mail_domains: tuple[str, ...] = ()
    commands: bool = True
    command: tuple[str, ...] = ()
