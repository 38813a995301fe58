"""The reading of request bodies: JSON and XML, as leniently as Hadoop's readers do.

A body becomes a mapping. In XML repeated elements become lists, and all values strings; a number
may be given as a string, and unknown fields are ignored (Hadoop: ApplicationSubmissionContextInfo).
"""

import gzip
import re
import zlib
from typing import Any

import msgspec
from starlette.requests import Request

from fairshare.documents.problems import Problems
from fairshare.documents.xml import parse, plain
from fairshare.server.web.limits import body_limit_bytes
from fairshare.yarn.rest.errors import Refused, bad_request, wrong_form

INT = 32
LONG = 64
"""The bits of Java's integer types, which Hadoop's fields have."""

_WHOLE = re.compile(r"[+-]?[0-9]+")
_LONGEST = 20
"""The characters of the longest number of 64 bits; int() of a million digits takes long."""
_SHOWN = 40


async def read_object(request: Request, root: str) -> dict[str, Any]:
    """The body as a mapping, without the root element; raises Refused (400, 413, 415).

    `root` is the element's name in XML.
    """
    content = await read_bytes(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return _from_json(content)
    if kind == "application/xml":
        return _from_xml(content, root)
    if kind:
        raise wrong_form(None, 503)  # what clients of 3.4.1 get
    raise wrong_form("the body has no Content-Type: application/json or application/xml", 503)


async def read_bytes(request: Request) -> bytes:
    """The body, unpacked; raises Refused (400, 413)."""
    most_bytes = body_limit_bytes(request)
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > most_bytes:
            raise _too_large(most_bytes)
    content = bytes(found)
    if "gzip" in request.headers.get("content-encoding", ""):
        try:
            unpacked = zlib.decompressobj(zlib.MAX_WBITS | 16)
            content = unpacked.decompress(content, most_bytes + 1)
        except (zlib.error, gzip.BadGzipFile) as error:
            raise wrong_form(f"the body is not gzip: {error}") from None
        if len(content) > most_bytes:
            raise _too_large(most_bytes)
    return content


def _too_large(most_bytes: int) -> Refused:
    return wrong_form(f"the body is larger than {most_bytes} bytes", 413)


def _from_json(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise wrong_form("the body is empty: JSON is needed")
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise wrong_form(f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise wrong_form("the body must be an object")
    return found


def _from_xml(content: bytes, root: str) -> dict[str, Any]:
    problems = Problems()
    element = parse(content, "the body", problems)
    if element is None:
        raise wrong_form(f"the body is not XML: {problems.all[0].message}")
    if element.name != root:
        raise wrong_form(f"the body's root element must be {root}, not {element.name}")
    found = plain(element, strip=True)
    return found if isinstance(found, dict) else {}


def first_object(body: dict[str, Any], name: str) -> dict[str, Any]:
    """A body that is wrapped in its own name, or is not."""
    inner = body.get(name)
    return inner if len(body) == 1 and isinstance(inner, dict) else body


def as_list(value: Any) -> list[Any]:
    """One or many: a bare value means a list of one, null an empty list."""
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


def pairs(value: Any) -> list[tuple[str, Any]]:
    """The entries of a Java map: `{"entry": [{"key":, "value":}]}`, or one of them bare."""
    entries = value.get("entry") if isinstance(value, dict) else value
    return [
        (str(one.get("key", "")), one.get("value", ""))
        for one in as_list(entries)
        if isinstance(one, dict)
    ]


def text_of(value: Any, default: str = "") -> str:
    """A text; numbers are taken as they are written."""
    if value is None or isinstance(value, dict | list):
        return default
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def lenient_integer(value: Any, name: str, default: int = 0, *, bits: int = INT) -> int:
    """The integer of a field, also as a string; an absent one is the default, anything else is 0.

    Raises Refused (400) for one that Hadoop's field, of `INT` or `LONG` bits, cannot hold.

    >>> lenient_integer("1024", "memory"), lenient_integer("much", "memory")
    (1024, 0)
    >>> lenient_integer(None, "memory", 7)
    7
    """
    if value is None:
        return default
    if isinstance(value, bool):
        return 0
    most = 1 << (bits - 1)
    if isinstance(value, int | float):
        # A float is compared as it is: int() of an infinite one fails.
        if -most <= value < most:
            return int(value)
    elif not isinstance(value, str) or not _WHOLE.fullmatch(value.strip()):
        return 0
    else:
        digits = value.strip()
        if len(digits) <= _LONGEST and -most <= int(digits) < most:
            return int(digits)
    kind = "int" if bits == INT else "long"
    raise bad_request(f"{name}: {str(value)[:_SHOWN]} is out of range of {kind}")


def java_number(text: str, bits: int = INT) -> int:
    """A number as Java's parseInt and parseLong read it; raises ValueError.

    >>> java_number("-7"), java_number("+7")
    (-7, 7)
    """
    most = 1 << (bits - 1)
    if _WHOLE.fullmatch(text) and len(text) <= _LONGEST and -most <= int(text) < most:
        return int(text)
    raise ValueError(f"{text[:_SHOWN]!r} is no whole number of {bits} bits")


def truth(value: Any, default: bool = False) -> bool:
    """A truth value, also as a string."""
    if value is None:
        return default
    return value is True or (isinstance(value, str) and value.strip().lower() == "true")
