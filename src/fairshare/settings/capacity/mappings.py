"""Queue mappings in both forms, JSON (Hadoop: MappingRuleCreator) and legacy (Hadoop:
MappingRule.createLegacyRule), and the choice of the form.

Knows no queue: `placement` reports whether the queues of mappings exist. Opens no file by itself:
it is given a function that reads one.
"""

import json
from collections.abc import Mapping
from typing import Final

from fairshare.core.placement.mapping import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.documents import literals
from fairshare.documents.problems import Place, Problems
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.setting import Setting, of_cluster
from fairshare.settings.site import Site
from fairshare.settings.site_files import FileReader

RULE: Final = "queue-mapping"
REFUSED: Final = "does not start"

_TYPES: Final = {"user": Matcher.USER, "group": Matcher.GROUP, "application": Matcher.APPLICATION}
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
    mappings = []
    for number, rule in enumerate(rules, 1):
        try:
            mappings.append(_rule_of_json(rule, number, start, problems))
        except _Wrong as error:
            problems.error(start, RULE, f"mapping rule {number}: {error}", REFUSED)
    return tuple(mappings)


def _rule_of_json(rule: object, number: int, place: Place, problems: Problems) -> MappingRule:
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


def _choice(texts: dict[str, str | None], key: str, choices: tuple[str, ...]) -> str:
    text = texts[key]
    if text is None:
        raise _Wrong(f"Rule {key} is undefined: it is one of {', '.join(choices)}")
    if text not in choices:
        raise _Wrong(f"there is no {key} {text!r}: it is one of {', '.join(choices)}")
    return text


def _text(rule: Mapping[str, object], key: str) -> str | None:
    value = rule.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)  # a name such as 2024 needs no quotation marks
    raise _Wrong(f"{key} must be a text, not {json.dumps(value)}")


def _create(rule: Mapping[str, object]) -> bool:
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


FORMAT: Final = PREFIX + "mapping-rule-format"
JSON: Final = PREFIX + "mapping-rule-json"
JSON_FILE: Final = PREFIX + "mapping-rule-json-file"
MAPPINGS: Final = PREFIX + "queue-mappings"
ENGINES: Final = "yarn.scheduler.queue-placement-rules"
APPLICATION_MAPPINGS: Final = ENGINES + ".app-name"


def _row(name: str, unwritten: str, meaning: str) -> Setting:
    return of_cluster(name, "mappings", Site.text, unwritten, meaning)


SETTINGS: Final = (
    _row(MAPPINGS, "none", "`u:USER:QUEUE` and `g:GROUP:QUEUE`, separated by commas."),
    _row(APPLICATION_MAPPINGS, "none", "`NAME:QUEUE` by names of applications."),
    _row(ENGINES, "user-group and app-name", "Which of the two lists above apply."),
    _row(FORMAT, "legacy", "`json`: the rules below apply instead of these lists."),
    _row(JSON, "none", 'The rules as a document: `{"rules": [...]}`.'),
    _row(JSON_FILE, "none", "The name of a file with that document."),
)
"""The properties that `read_mappings` makes the rules of."""


_KNOWN_ENGINES: Final = ("user-group", "app-name")
_MATCHERS: Final = {"u": Matcher.USER, "g": Matcher.GROUP}


def read_mappings(site: Site, problems: Problems, read_file: FileReader) -> tuple[MappingRule, ...]:
    """The rules in their order, whichever way they are written."""
    if not _runs_mappings(site, problems):
        return ()
    chosen = site.text(FORMAT, problems) or "legacy"
    if chosen not in ("legacy", "json"):
        problems.error(
            site.place(FORMAT),
            RULE,
            f"{FORMAT}: Illegal queue mapping format {chosen!r}: it is legacy or json",
            REFUSED,
        )
        return ()
    if chosen == "json":
        _report_unused(site, problems, (MAPPINGS, APPLICATION_MAPPINGS), "json")
        return read_rules(site, JSON, JSON_FILE, problems, read_file)
    _report_unused(site, problems, (JSON, JSON_FILE), "legacy")
    rules = [
        rule
        for entry in site.strings(MAPPINGS, problems)
        if (rule := _user_or_group(entry, site, problems)) is not None
    ]
    rules += [
        rule
        for entry in site.strings(APPLICATION_MAPPINGS, problems)
        if (rule := _application(entry, site, problems)) is not None
    ]
    return tuple(rules)


def _runs_mappings(site: Site, problems: Problems) -> bool:
    """Whether the mappings are among the engines that place applications; by default they are."""
    # Divided by commas alone, blanks and all (Hadoop: CapacityScheduler.updatePlacementRules).
    engines = [engine for engine in (site.text(ENGINES, problems) or "").split(",") if engine]
    place = site.place(ENGINES)
    for engine in engines:
        if engine not in _KNOWN_ENGINES:
            known = " and ".join(_KNOWN_ENGINES)
            message = f"{ENGINES}: there is no placement rule {engine!r} (there are {known})"
            problems.error(place, RULE, message, "loads a class of this name, or does not start")
    if len(set(engines)) < len(engines):
        message = f"{ENGINES}: Invalid PlacementRule inputs: a rule is given twice"
        problems.error(place, RULE, message, REFUSED)
    return not engines or any(engine in _KNOWN_ENGINES for engine in engines)


def _report_unused(site: Site, problems: Problems, names: tuple[str, ...], form: str) -> None:
    for name in names:
        if site.text(name, problems) is not None:
            problems.warning(
                site.place(name),
                "without-effect",
                f"{name} has no effect: {FORMAT} is {form}",
                "ignores it",
            )


def _user_or_group(entry: str, site: Site, problems: Problems) -> MappingRule | None:
    """`u:ann:root.a`, `g:dev:root.b`."""
    parts = _parts(entry)
    if len(parts) != 3:
        message = f"Illegal queue mapping {entry!r}: it must be u:user:queue or g:group:queue"
    elif parts[0] not in _MATCHERS:
        message = f"unknown mapping prefix {parts[0]!r} in {entry!r}: it must be u or g"
    else:
        prefix, name, path = parts
        if (prefix, name) == ("u", "%user"):
            return _rule(Matcher.ALL, "", path, entry)
        return _rule(_MATCHERS[prefix], name, path, entry)
    problems.error(site.place(MAPPINGS), RULE, f"{MAPPINGS}: {message}", REFUSED)
    return None


def _application(entry: str, site: Site, problems: Problems) -> MappingRule | None:
    """`nightly:root.batch`."""
    parts = _parts(entry)
    if len(parts) == 2:
        return _rule(Matcher.APPLICATION, parts[0], parts[1], entry)
    message = f"{APPLICATION_MAPPINGS}: Illegal queue mapping {entry!r}: it must be name:queue"
    problems.error(site.place(APPLICATION_MAPPINGS), RULE, message, REFUSED)
    return None


def _parts(entry: str) -> list[str]:
    return [piece for part in entry.split(":") if (piece := literals.trim(part))]


def _rule(matcher: Matcher, match: str, path: str, entry: str) -> MappingRule:
    fallback = MappingFallback.PLACE_DEFAULT
    return MappingRule(matcher, match, path=path, fallback=fallback, source=entry)
