"""What it means that two answers agree: the rules of the samples' README.

Each function returns the places in which they differ, as texts; none means that they agree.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

import httpx

UNORDERED = frozenset(
    {
        "app",
        "node",
        "container",
        "statItem",
        "user",
        "resourceRequests",
        "property",
        "entry",
        "nodeLabelInfo",
        "nodes",
        "queue",
    }
)
LOOSE = frozenset({"maximumAllocation", "minimumAllocation"})
"""Limits of types, which no client reads: their kind must agree."""

_FORMS = {
    "time": r"\d+",
    "number": r"-?\d+(?:\.\d+)?",
    "date": r".+?",
    "state": r"ACCEPTED|RUNNING|KILLING|FINAL_SAVING|KILLED",
}
_PLACEHOLDER = re.compile(r"@([a-z-]+)(?::string)?@")
_OF_PARSERS = re.compile(
    r"javax\.xml\.bind|NullPointerException|com\.sun\.|could not be parsed|because the return value"
)


class Pairs:
    """A JSON object with keys that may stand twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = sorted(pairs, key=lambda pair: (pair[0], json.dumps(_plain(pair[1]))))

    @property
    def keys(self) -> list[str]:
        """All keys, sorted."""
        return [key for key, _ in self.pairs]


def _plain(value: Any) -> Any:
    if isinstance(value, Pairs):
        return [[key, _plain(inner)] for key, inner in value.pairs]
    return [_plain(item) for item in value] if isinstance(value, list) else value


class Comparison:
    """Compares answers of a server whose cluster began at `epoch_ms` and which is at `address`."""

    def __init__(self, epoch_ms: int, address: str) -> None:
        self._known = {"ts": str(epoch_ms), "rm": address}

    def filled(self, text: str) -> str:
        """A text of a request with our names in it."""
        for name, value in self._known.items():
            text = text.replace(f"@{name}@", value)
        return text

    def differences(self, expected: Mapping[str, Any], found: httpx.Response) -> list[str]:
        """Where an answer differs from a recorded one."""
        if expected["status"] != found.status_code:
            return [f"status {found.status_code}, not {expected['status']}: {found.text[:200]}"]
        wrong = list(self._headers(expected["headers"], found.headers))
        body = expected.get("body") or ""
        kind = expected["headers"].get("Content-Type", "").partition(";")[0]
        return wrong + self._bodies(body, found.text, kind)

    def _headers(self, expected: Mapping[str, str], found: httpx.Headers) -> Iterator[str]:
        for name, value in expected.items():
            actual = found.get(name)
            if actual is None:
                yield f"header {name} is missing"
            elif not self._matches(value, actual):
                yield f"header {name}: {actual!r}, not {value!r}"

    def _bodies(self, expected: str, found: str, kind: str) -> list[str]:
        title = re.fullmatch(r"@html:(.*)@", expected.strip())
        if title is not None:
            wanted = f"<title>{title[1]}</title>"
            return [] if wanted in found else [f"the page has no {wanted}"]
        if expected.startswith(("{", "[")):
            return self._json_texts(expected, found)
        if expected.startswith("<?xml"):
            return self._xml_texts(expected, found)
        same = self._matches(expected.strip(), found.strip())
        return [] if same else [f"body {found[:200]!r}, not {expected[:200]!r}"]

    def _json_texts(self, expected: str, found: str) -> list[str]:
        try:
            actual = json.loads(found, object_pairs_hook=Pairs)
        except ValueError:
            return [f"the body is not JSON: {found[:200]}"]
        return list(self._json("", json.loads(expected, object_pairs_hook=Pairs), actual))[:5]

    def _json(self, place: str, expected: Any, found: Any) -> Iterator[str]:
        key = place.rpartition(".")[2].partition("[")[0]
        if isinstance(expected, Pairs):
            yield from self._objects(place, expected, found)
        elif isinstance(expected, list):
            yield from self._lists(place, key, expected, found)
        elif isinstance(expected, str) and expected in ("@time@", "@number@", "@ts@"):
            if isinstance(found, bool) or not isinstance(found, int | float):
                yield f"{place}: {found!r} is not a number"
            elif expected == "@ts@" and str(found) != self._known["ts"]:
                yield f"{place}: {found}, not the cluster's"
        elif isinstance(expected, str):
            if not isinstance(found, str):
                yield f"{place}: {found!r} is not a text, as {expected[:100]!r} is"
            elif not self._matches(expected, found) and not self._is_of_parsers(key, expected):
                yield f"{place}: {found[:400]!r}, not {expected[:400]!r}"
        elif type(expected) is not type(found) or (
            key not in LOOSE and not _equal(expected, found)
        ):
            yield f"{place}: {found!r}, not {expected!r}"

    @staticmethod
    def _is_of_parsers(key: str, expected: str) -> bool:
        return key == "message" and bool(_OF_PARSERS.search(expected))

    def _objects(self, place: str, expected: Pairs, found: Any) -> Iterator[str]:
        if not isinstance(found, Pairs):
            yield f"{place}: {found!r} is not an object"
            return
        if expected.keys != found.keys:
            missing = [key for key in expected.keys if key not in found.keys]
            more = [key for key in found.keys if key not in expected.keys]
            yield f"{place}: keys missing {missing}, more {more}"
            return
        for (key, inner), (_, actual) in zip(expected.pairs, found.pairs, strict=True):
            yield from self._json(f"{place}.{key}", inner, actual)

    def _lists(self, place: str, key: str, expected: list[Any], found: Any) -> Iterator[str]:
        if not isinstance(found, list) or len(found) != len(expected):
            count = len(found) if isinstance(found, list) else found
            yield f"{place}: {count} items, not {len(expected)}"
            return
        pairs = list(zip(expected, found, strict=True))
        if key in UNORDERED:
            pairs = self._matched(place, expected, found)
        for number, (inner, actual) in enumerate(pairs):
            yield from self._json(f"{place}[{number}]", inner, actual)

    def _matched(self, place: str, expected: list[Any], found: list[Any]) -> list[tuple[Any, Any]]:
        """Items paired with those that they agree with; what is left over in the order it has."""
        left = list(found)
        pairs, alone = [], []
        for item in expected:
            for place_, actual in enumerate(left):
                if next(self._json(place, item, actual), None) is None:
                    pairs.append((item, left.pop(place_)))
                    break
            else:
                alone.append(item)
        return pairs + list(zip(sorted(alone, key=_name), sorted(left, key=_name), strict=True))

    # XML.

    def _xml_texts(self, expected: str, found: str) -> list[str]:
        try:
            actual = ElementTree.fromstring(found)
        except ElementTree.ParseError:
            return [f"the body is not XML: {found[:200]}"]
        return list(self._elements("", ElementTree.fromstring(expected), actual))[:5]

    def _elements(
        self, place: str, expected: ElementTree.Element, found: ElementTree.Element
    ) -> Iterator[str]:
        place = f"{place}/{expected.tag}"
        if expected.tag != found.tag or expected.attrib != found.attrib:
            yield f"{place}: <{found.tag} {found.attrib}>"
            return
        mine, theirs = list(expected), list(found)
        if [child.tag for child in mine] != [child.tag for child in theirs]:
            if sorted(child.tag for child in mine) != sorted(child.tag for child in theirs):
                tags = {child.tag for child in mine} ^ {child.tag for child in theirs}
                yield f"{place}: other elements: {sorted(tags)} or their number"
                return
            mine.sort(key=lambda child: child.tag)
            theirs.sort(key=lambda child: child.tag)
        for tag in dict.fromkeys(child.tag for child in mine):
            yield from self._siblings(
                place,
                [child for child in mine if child.tag == tag],
                [child for child in theirs if child.tag == tag],
            )
        text, actual = (expected.text or "").strip(), (found.text or "").strip()
        if mine or expected.tag in LOOSE or self._is_of_parsers(expected.tag, text):
            return
        if not self._matches(text, actual) and not _same_number(text, actual):
            yield f"{place}: {actual!r}, not {text!r}"

    def _siblings(
        self,
        place: str,
        expected: list[ElementTree.Element],
        found: list[ElementTree.Element],
    ) -> Iterator[str]:
        left = list(found)
        alone = []
        for item in expected:
            for number, actual in enumerate(left):
                if next(self._elements(place, item, actual), None) is None:
                    del left[number]
                    break
            else:
                alone.append(item)
        for item, actual in zip(alone, left, strict=True):
            yield from self._elements(place, item, actual)

    # Texts.

    def _matches(self, expected: str, found: str) -> bool:
        if "@" not in expected:
            return expected == found
        pattern, end = "", 0
        for match in _PLACEHOLDER.finditer(expected):
            pattern += re.escape(expected[end : match.start()])
            known = self._known.get(match[1])
            pattern += re.escape(known) if known else f"(?:{_FORMS.get(match[1], '.*')})"
            end = match.end()
        pattern += re.escape(expected[end:])
        return re.fullmatch(pattern, found, re.DOTALL) is not None


def _equal(expected: Any, found: Any) -> bool:
    if isinstance(expected, float):
        near: bool = abs(expected - found) <= 1e-5 * max(abs(expected), abs(found))
        return near
    return bool(expected == found)


def _same_number(expected: str, found: str) -> bool:
    if "." not in expected:
        return False
    try:
        return _equal(float(expected), float(found))
    except ValueError:
        return False


def _name(item: Any) -> str:
    if isinstance(item, Pairs):
        named = [str(v) for k, v in item.pairs if k in ("id", "name", "queuePath", "queueName")]
        return "".join(named) or json.dumps(_plain(item))
    return json.dumps(item)
