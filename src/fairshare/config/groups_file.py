"""Owns the form of a file of groups: a line for each user, `user: primary, other`.

Blank lines and text after `#` do not count. Opens no file.
"""

from fairshare.config.problems import Place, Problems

_RULE = "groups-file"


def read_groups(document: bytes, file: str, problems: Problems) -> dict[str, tuple[str, ...]]:
    """The groups by user, the primary one first; mistakes are reported with their lines."""
    try:
        text = document.decode()
    except UnicodeDecodeError as error:
        problems.error(Place(file), _RULE, f"the file is not UTF-8: {error}")
        return {}
    found: dict[str, tuple[str, ...]] = {}
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
            message = f"{line!r} must be a user and his groups: `user: primary, other`"
            problems.error(place, _RULE, message)
        elif user in found:
            message = f"the user {user!r} is in line {lines[user]} already"
            problems.error(place, _RULE, message)
        else:
            found[user], lines[user] = tuple(dict.fromkeys(groups)), number
    return found
