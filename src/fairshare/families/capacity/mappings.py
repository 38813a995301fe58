"""Owns queue mappings in the legacy form, and the choice of the form
(Hadoop: MappingRule.createLegacyRule).

Knows no queue: `placement` reports whether the queues of mappings exist.
"""

from typing import Final

from fairshare.config import literals
from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.config.site_files import FileReader
from fairshare.families.capacity.names import PREFIX
from fairshare.families.capacity.rules import read_rules
from fairshare.families.setting import Setting, of_cluster
from fairshare.placement.mapping.rule import MappingFallback, MappingRule, Matcher

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

RULE: Final = "queue-mapping"
REFUSED: Final = "does not start"

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
    engines = site.strings(ENGINES, problems)
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
