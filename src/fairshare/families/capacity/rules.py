"""Owns queue mappings in their JSON form (Hadoop: MappingRuleCreator).

Knows no queue, and opens no file by itself: it is given something that reads one.
"""

import json
from typing import Any, Final

from fairshare.config import literals
from fairshare.config.problems import Place, Problems
from fairshare.config.site import Site
from fairshare.config.site_files import FileReader
from fairshare.placement.mapping.rule import (
    MappingAction,
    MappingFallback,
    MappingRule,
    Matcher,
)

RULE: Final = "queue-mapping"
REFUSED: Final = "does not start"

_TYPES: Final = {
    "user": Matcher.USER,
    "group": Matcher.GROUP,
    "application": Matcher.APPLICATION,
}
_FALLBACKS: Final = {
    "skip": MappingFallback.SKIP,
    "reject": MappingFallback.REJECT,
    "placeDefault": MappingFallback.PLACE_DEFAULT,
}
_BELOW_PARENT: Final = {
    "user": "%user",
    "applicationName": "%application",
    "primaryGroup": "%primary_group",
    "primaryGroupUser": "%primary_group.%user",
    "secondaryGroup": "%secondary_group",
    "secondaryGroupUser": "%secondary_group.%user",
}
_POLICIES: Final = (
    *("specified", "defaultQueue", "reject", "custom", "setDefaultQueue"),
    *_BELOW_PARENT,
)
_TEXTS: Final = (
    *("type", "matches", "policy", "parentQueue", "customPlacement", "value"),
    "fallbackResult",
)


class _Wrong(ValueError):
    """A rule that cannot be used."""


def read_rules(
    site: Site, inline: str, file: str, problems: Problems, read_file: FileReader
) -> tuple[MappingRule, ...]:
    """The rules of the property `inline`, else of the file that the property `file` names."""
    text = site.text(inline, problems)
    path = literals.trim(site.text(file, problems) or "")
    if text is not None:
        if path:
            message = f"{file} has no effect: {inline} is set"
            problems.warning(site.place(file), "without-effect", message, "ignores it")
        return _read_document(text, site.place(inline), problems)
    if path:
        try:
            text = read_file(path).decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            message = f"{file}: {path} cannot be read: {reason}"
            problems.error(site.place(file), RULE, message, REFUSED)
            return ()
        return _read_document(text, Place(path, 1), problems)
    problems.warning(
        site.place(inline, file),
        RULE,
        f"there are no mapping rules: neither {inline} nor {file} is set",
        "warns and places nothing",
    )
    return ()


def _read_document(text: str, start: Place, problems: Problems) -> tuple[MappingRule, ...]:
    """The rules of a JSON text that begins at a place."""
    try:
        document = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        place, reason = start, "it is nested too deeply"
        if isinstance(error, json.JSONDecodeError):
            place, reason = Place(start.file, start.line + error.lineno - 1, error.colno), error.msg
        problems.error(place, RULE, f"the mapping rules are not JSON: {reason}", REFUSED)
        return ()
    rules = document.get("rules", []) if isinstance(document, dict) else None
    if not isinstance(rules, list):
        message = 'the mapping rules must be of the form {"rules": [...]}'
        problems.error(start, RULE, message, REFUSED)
        return ()
    for key in document:
        if key != "rules":
            _report_unknown(key, "beside rules", start, problems)
    found = []
    for number, rule in enumerate(rules, 1):
        try:
            found.append(_rule(rule, number, start, problems))
        except _Wrong as error:
            problems.error(start, RULE, f"mapping rule {number}: {error}", REFUSED)
    return tuple(found)


def _rule(rule: object, number: int, place: Place, problems: Problems) -> MappingRule:
    if not isinstance(rule, dict):
        raise _Wrong(f"{rule!r} is not an object")
    for key in rule:
        if key not in (*_TEXTS, "create"):
            _report_unknown(key, f"in mapping rule {number}", place, problems)
    texts = {key: _text(rule, key) for key in _TEXTS}
    policy = _choice(texts, "policy", _POLICIES)
    matched_by = _choice(texts, "type", tuple(_TYPES))
    matches = texts["matches"]
    if not matches:
        raise _Wrong("Match string is undefined or empty: write matches")
    if matched_by == "group" and matches == "*":
        raise _Wrong("Cannot match '*' for groups: use the type user, which matches all users")
    everyone = matched_by == "user" and matches == "*"
    action, path = _target(policy, texts)
    fallback = "skip"
    if texts["fallbackResult"] is not None:
        fallback = _choice(texts, "fallbackResult", tuple(_FALLBACKS))
    return MappingRule(
        matcher=Matcher.ALL if everyone else _TYPES[matched_by],
        match="" if everyone else matches,
        action=action,
        path=path,
        create=_create(rule) and policy != "defaultQueue",
        fallback=_FALLBACKS[fallback],
        source=json.dumps(rule),
    )


def _target(policy: str, texts: dict[str, str | None]) -> tuple[MappingAction, str]:
    """What the rule does, and the path that it does it with."""
    if policy in _BELOW_PARENT:
        parent = texts["parentQueue"]
        path = _BELOW_PARENT[policy]
        return MappingAction.PLACE, path if parent is None else f"{parent}.{path}"
    match policy:
        case "reject":
            return MappingAction.REJECT, ""
        case "specified":
            return MappingAction.PLACE, "%specified"
        case "custom":
            return MappingAction.PLACE, _needed(texts, "customPlacement", "custom queue")
        case "setDefaultQueue":
            return MappingAction.SET_DEFAULT, _needed(texts, "value", "default queue")
        case _:
            return MappingAction.PLACE, "%default"


def _needed(texts: dict[str, str | None], key: str, what: str) -> str:
    text = texts[key]
    if text is None:
        raise _Wrong(f"{what} is undefined: write {key}")
    return text


def _choice(texts: dict[str, str | None], key: str, known: tuple[str, ...]) -> str:
    text = texts[key]
    if text is None:
        raise _Wrong(f"Rule {key} is undefined: it is one of {', '.join(known)}")
    if text not in known:
        raise _Wrong(f"there is no {key} {text!r}: it is one of {', '.join(known)}")
    return text


def _text(rule: dict[str, Any], key: str) -> str | None:
    value = rule.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)  # a name such as 2024 needs no quotation marks
    raise _Wrong(f"{key} must be a text, not {json.dumps(value)}")


def _create(rule: dict[str, Any]) -> bool:
    value = rule.get("create")
    if value is None:
        return True
    word = value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))
    if word is None:
        raise _Wrong(f"create must be true or false, not {json.dumps(value)}")
    return word


def _report_unknown(key: str, where: str, place: Place, problems: Problems) -> None:
    message = f"{key!r} {where} is unknown and has no effect"
    problems.warning(place, RULE, message, "ignores it")
