"""The sections of fairshare.toml that schedulers follow beside Hadoop's files, and that a reload
applies: each is a field of the same name in their settings.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fairshare.core.model.resources import ResourceTypes
from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.settings import shell
from fairshare.settings.bookings import SECTION as BOOKINGS
from fairshare.settings.bookings import booking_rules_of
from fairshare.settings.fairness import SECTION as FAIRNESS
from fairshare.settings.fairness import fairness_of
from fairshare.settings.time_limits import SECTION as TIME_LIMITS
from fairshare.settings.time_limits import time_limits_of


def with_own_sections(
    settings: Any,
    located: shell.ShellSettings,
    types: ResourceTypes,
    title: str,
    root: Node,
    problems: Problems,
) -> Any:
    """The settings of a scheduler with those of these sections that it follows. One that it does
    not follow is reported; `root` is the document that has them."""
    own: Mapping[str, object] = {
        FAIRNESS: fairness_of(located.fairness, types, root, problems),
        TIME_LIMITS: time_limits_of(located.time_limits),
        BOOKINGS: booking_rules_of(located.bookings),
    }
    followed = {name: own[name] for name in own if name in settings.__struct_fields__}
    for name in own.keys() - followed:
        if name in root.keys:
            problems.error(root.keys[name], shell.RULE, f"the {title} does not follow [{name}]")
    return msgspec.structs.replace(settings, **followed)
