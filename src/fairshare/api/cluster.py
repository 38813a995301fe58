"""The records of the cluster as a whole, of its shutdown, and of the caller."""

from typing import Annotated

import msgspec

from fairshare.api.values import ActorBody, Amounts, Body, Duration, User


class Refusal(msgspec.Struct, frozen=True):
    """Every refusal: the code is stable, the message says what to do. `id` is that of a refused
    application."""

    code: str
    message: str
    id: str | None = None


class Cluster(msgspec.Struct, frozen=True):
    """The cluster as a whole. `applications` counts those that are known, by state; `pending` are
    the amounts that they request; `disk_problem` says why nothing is admitted where the server's
    disk is nearly full. `scheduler_title` is the scheduler's name for people; `has_priorities` and
    `moves_applications` say whether it respects priorities and moves applications. `machine` is the
    machine on which all containers run (`this_machine.py`), empty if they run on several;
    `files_of` the one whose accounts and homes all of them share, empty if there is none."""

    name: str = ""
    version: str = ""
    scheduler: str = ""
    engine: str = ""
    state_directory: str = ""
    epoch_ms: int = 0
    started_ms: int = 0
    now_ms: int = 0
    disk_problem: str = ""
    total: Amounts = {}
    used: Amounts = {}
    available: Amounts = {}
    pending: Amounts = {}
    nodes: int = 0
    containers: int = 0
    applications: dict[str, int] = {}
    safe_mode: bool = False
    scheduler_title: str = ""
    has_priorities: bool = True
    moves_applications: bool = True
    machine: str = ""
    files_of: str = ""


class Version(msgspec.Struct, frozen=True):
    """The version of the cluster's state."""

    version: int


class ShutdownBody(ActorBody, frozen=True, kw_only=True):
    """Whether the containers end with the server; the default was chosen when it started."""

    stop_containers: bool | None = None


class Stopping(msgspec.Struct, frozen=True):
    """The server ends; the numbers of applications and containers that end with it, or run on."""

    stopping: bool = True
    stop_containers: bool = False
    applications: int = 0
    containers: int = 0


class SafeModeBody(ActorBody, frozen=True, kw_only=True):
    """Whether to stop admitting applications and granting containers."""

    on: bool


class SafeMode(msgspec.Struct, frozen=True):
    """Whether nothing is admitted and granted."""

    safe_mode: bool


class Caller(msgspec.Struct, frozen=True):
    """The caller: `administrator` of the whole cluster, or of the queues of `administers`.

    `user` is null where authentication is off: the server does not know who calls, and believes the
    name that a call gives.
    """

    user: str | None
    proven: bool
    administrator: bool
    administers: tuple[str, ...]


class SignInWays(msgspec.Struct, frozen=True):
    """What a caller can sign in with, if callers need a proof (`required`): a token, the password
    of an account, and the address that `fairshare open` prints, where an account may make tokens
    for itself."""

    required: bool
    tokens: bool
    passwords: bool
    addresses: bool


class SignInBody(Body, frozen=True, kw_only=True):
    """The code of a one-time address, or an account (`user`) and its password."""

    user: User | None = None
    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)] | None = None
    code: Annotated[str, msgspec.Meta(max_length=100)] | None = None
    lifetime_ms: Duration | None = None


class TokenBody(ActorBody, frozen=True, kw_only=True):
    """How long a token of one's own is to be valid; by default as long as the server allows."""

    lifetime_ms: Duration | None = None


class OwnToken(msgspec.Struct, frozen=True):
    """A token that an account has made for itself. It is not shown again."""

    token: str
    user: str
    expires_ms: int


class SignInCode(msgspec.Struct, frozen=True):
    """What opens the pages at `url` once, as `URL/cluster/scheduler#sign-in=CODE`; the code is
    empty where callers need no proof."""

    url: str
    code: str
    expires_ms: int
