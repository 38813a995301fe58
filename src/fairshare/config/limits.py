"""Owns `[limits]` of fairshare.toml: how much one caller may ask of a server.

The defaults are so large that only attackers, and loops that went wrong, reach them.
What a limit refuses, and with which words, is said where it is asked (`web/limits.py`).
"""

from typing import Final

import msgspec

DEFAULT_REQUESTS_PER_SECOND: Final = 1_000


class LimitSettings(msgspec.Struct, frozen=True):
    """How much is taken in.

    `header_kb` and `body_mb` are of one request; `tasks` of one application; `asks` and
    `containers` of one request of a driver, the containers of all its asks together; `places` are
    hosts, racks and groups to wait for that one request names.

    `applications_per_user` are those that are not over, `user_mb` what one user has submitted for
    all that are known, `environment_kb` arguments and environment of one command.

    `requests_per_second` (0: any number) is a mean, and twice as many may come at once; None: 1,000
    where callers prove who they are, else any number. `streams` are answers that stay open,
    `connections` open ones of any kind.

    The headers of a request must be there within `header_s`, its body within `body_s` and a second
    more for each 10 kB; a reader must take 64 kB of an answer within `send_s`. `answers_mb` is what
    one caller may leave unread of large answers, `bodies_mb` what bodies of his requests may hold
    until they are answered, `result_mb` the value that a callable returns,
    `payload_mb` a callable that is uploaded, with its arguments. `package_mb` is one uploaded
    package of a Ray job, and ten times as much its unpacked files; `packages_mb` are those of one
    user.

    With less than `free_mb` free on the disk of the state directory nothing is admitted; None: 256,
    or a twentieth of the disk if that is less.
    """

    header_kb: int = 32
    body_mb: int = 8
    tasks: int = 1_000_000
    asks: int = 10_000
    containers: int = 1_000_000
    places: int = 10_000
    applications_per_user: int = 10_000
    user_mb: int = 512
    environment_kb: int = 256
    requests_per_second: int | None = None
    streams_per_caller: int = 2_000
    streams: int = 5_000
    connections: int = 10_000
    connections_per_address: int = 5_000
    header_s: int = 10
    body_s: int = 30
    send_s: int = 30
    bodies_mb: int = 256
    answers_mb: int = 64
    result_mb: int = 256
    payload_mb: int = 256
    package_mb: int = 512
    packages_mb: int = 2_048
    free_mb: int | None = None


RANGES: Final = {
    "header_kb": (1, 1_024),
    "body_mb": (1, 1_024),
    "tasks": (1, 1_000_000),
    "asks": (1, 10_000),
    "containers": (1, 2**31 - 1),
    "places": (1, 1_000_000),
    "applications_per_user": (1, 10_000_000),
    "user_mb": (1, 1_048_576),
    "environment_kb": (1, 1_024),
    "requests_per_second": (0, 1_000_000),
    "streams_per_caller": (1, 1_000_000),
    "streams": (1, 1_000_000),
    "connections": (10, 1_000_000),
    "connections_per_address": (10, 1_000_000),
    "header_s": (1, 3_600),
    "body_s": (1, 3_600),
    "send_s": (1, 3_600),
    "bodies_mb": (1, 1_048_576),
    "answers_mb": (1, 1_048_576),
    "result_mb": (1, 1_048_576),
    "payload_mb": (1, 1_048_576),
    "package_mb": (1, 4_095),
    "packages_mb": (1, 1_048_576),
    "free_mb": (0, 2**40),
}
"""The least and the most of each."""
