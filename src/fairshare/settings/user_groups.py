"""Hadoop's properties of users and their groups (core-site.xml), and the form of a file of groups:
a line for each user, `user: primary, other`.

Looks no user up, and opens no file.
"""

from typing import Final

import msgspec

from fairshare.documents.problems import Place, Problems
from fairshare.settings.site import Site

MAPPING: Final = "hadoop.security.group.mapping"
CACHE_SECONDS: Final = "hadoop.security.groups.cache.secs"
STATIC: Final = "hadoop.user.group.static.mapping.overrides"

_FROM_SYSTEM: Final = frozenset(
    {
        "JniBasedUnixGroupsMapping",
        "JniBasedUnixGroupsMappingWithFallback",
        "JniBasedUnixGroupsNetgroupMapping",
        "JniBasedUnixGroupsNetgroupMappingWithFallback",
        "ShellBasedUnixGroupsMapping",
        "ShellBasedUnixGroupsNetgroupMapping",
    }
)


class GroupSettings(msgspec.Struct, frozen=True):
    """`static` names the groups of some users, the primary one first; they are not looked up.

    What was found of the others counts for `cache_ms`.
    """

    cache_ms: int = 300_000
    static: dict[str, tuple[str, ...]] = {}


def read_user_groups(site: Site, problems: Problems, *, chosen: bool) -> GroupSettings:
    """Read them. `chosen`: fairshare.toml says where groups come from, which overrides Hadoop's
    choice of a class."""
    mapping = site.string(MAPPING, "", problems)
    if mapping and mapping.rpartition(".")[2] not in _FROM_SYSTEM and not chosen:
        problems.warning(
            site.place(MAPPING),
            "unsupported",
            f"{MAPPING} selects {mapping}, which is not here: groups come from the operating"
            " system. To take them from elsewhere, set groups_file or groups_command below [users]"
            " in fairshare.toml",
            "loads this class",
        )
    return GroupSettings(
        cache_ms=site.integer(CACHE_SECONDS, 300, problems, minimum=0) * 1_000,
        static=_static(site, problems),
    )


def _static(site: Site, problems: Problems) -> dict[str, tuple[str, ...]]:
    """`user=group1,group2;other=;`. Of several `=` beside each other one counts, and none at the
    ends (Hadoop: Groups.parseStaticMapping)."""
    by_user: dict[str, tuple[str, ...]] = {}
    for entry in site.string(STATIC, "dr.who=;", problems).split(";"):
        if not entry.strip():
            continue
        parts = [part for part in entry.split("=") if part]
        if len(parts) not in (1, 2):
            message = f"{STATIC}: {entry.strip()!r} must be user=group1,group2"
            problems.error(site.place(STATIC), "static-groups", message, "does not start")
            continue
        user, groups = (*parts, "")[:2]
        by_user[user.strip()] = tuple(part.strip() for part in groups.split(",") if part.strip())
    return by_user


_RULE = "groups-file"


def read_groups(document: bytes, file: str, problems: Problems) -> dict[str, tuple[str, ...]]:
    """The groups by user, the primary one first; mistakes are reported with their lines."""
    try:
        text = document.decode()
    except UnicodeDecodeError as error:
        problems.error(Place(file), _RULE, f"the file is not UTF-8: {error}")
        return {}
    by_user: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    for number, written in enumerate(text.splitlines(), 1):
        line = written.partition("#")[0].strip()
        if not line:
            continue
        user, colon, rest = line.partition(":")
        user = user.strip()
        groups = [part.strip() for part in rest.split(",")] if rest.strip() else []
        place = Place(file, number)
        if not colon or not user or not all(groups):
            message = f"{line!r} must be a user and the groups of this user: `user: primary, other`"
            problems.error(place, _RULE, message)
        elif user in by_user:
            message = f"the user {user!r} is in line {lines[user]} already"
            problems.error(place, _RULE, message)
        else:
            by_user[user], lines[user] = tuple(dict.fromkeys(groups)), number
    return by_user
