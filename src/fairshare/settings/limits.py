"""`[limits]` of fairshare.toml: how much one caller may ask of a server.

The defaults are so large that only attackers, and loops that went wrong, reach them. What a limit
refuses, and with which words, is said where it is asked (`server/web/limits.py`).
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

DEFAULT_REQUESTS_PER_SECOND: Final = 1_000


class LimitSettings(msgspec.Struct, frozen=True):
    """How much is taken in.

    `header_kb` and `body_mb` are of one request; `tasks` of one application; `asks` and
    `containers` of one request of a driver, the containers of all its asks together; `places` are
    hosts, racks and groups to wait for that one request names.

    `applications_per_user` are those that are not over, `created_queues_per_user` the queues with
    such applications that placement created because they were named, `user_mb` what one user has
    submitted for all that are known, `environment_kb` arguments and environment of one command.

    `requests_per_second` (0: any number) is a mean, and twice as many may come at once; None: 1,000
    where callers prove who they are, else any number. `streams` are answers that stay open,
    `connections` open ones of any kind. `sessions_per_container` and `sessions_per_user` are
    commands and terminals in running containers.

    The headers of a request must be there within `header_s`, its body within `body_s` and a second
    more for each 10 kB; a reader must take 64 kB of an answer within `send_s`. `answers_mb` is what
    one caller may leave unread of large answers, `bodies_mb` what bodies of its requests may hold
    until they are answered, `result_mb` the value that a callable returns,
    `payload_mb` a callable that is uploaded, with its arguments. `package_mb` is one uploaded
    package of a Ray job, and ten times as much its unpacked files; `packages_mb` are those of one
    user.

    With less than `free_mb` free on the disk of the state directory nothing is admitted or
    launched; None: 256, or a twentieth of the disk if that is less. `free_inodes` is the same for
    inodes; None: 10,000, or a twentieth.
    """

    header_kb: Annotated[int, Meta(ge=1, le=1_024)] = 32
    body_mb: Annotated[int, Meta(ge=1, le=1_024)] = 8
    tasks: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000_000
    asks: Annotated[int, Meta(ge=1, le=10_000)] = 10_000
    containers: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1_000_000
    places: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    applications_per_user: Annotated[int, Meta(ge=1, le=10_000_000)] = 10_000
    created_queues_per_user: Annotated[int, Meta(ge=1, le=1_000_000)] = 100
    user_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 512
    environment_kb: Annotated[int, Meta(ge=1, le=1_024)] = 256
    requests_per_second: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    streams_per_caller: Annotated[int, Meta(ge=1, le=1_000_000)] = 2_000
    streams: Annotated[int, Meta(ge=1, le=1_000_000)] = 5_000
    sessions_per_container: Annotated[int, Meta(ge=1, le=10_000)] = 8
    sessions_per_user: Annotated[int, Meta(ge=1, le=10_000)] = 32
    connections: Annotated[int, Meta(ge=10, le=1_000_000)] = 10_000
    connections_per_address: Annotated[int, Meta(ge=10, le=1_000_000)] = 5_000
    header_s: Annotated[int, Meta(ge=1, le=3_600)] = 10
    body_s: Annotated[int, Meta(ge=1, le=3_600)] = 30
    send_s: Annotated[int, Meta(ge=1, le=3_600)] = 30
    bodies_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 256
    answers_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 64
    result_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 256
    payload_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 256
    package_mb: Annotated[int, Meta(ge=1, le=4_095)] = 512
    packages_mb: Annotated[int, Meta(ge=1, le=1_048_576)] = 2_048
    free_mb: Annotated[int, Meta(ge=0, le=2**40)] | None = None
    free_inodes: Annotated[int, Meta(ge=0, le=2**40)] | None = None
