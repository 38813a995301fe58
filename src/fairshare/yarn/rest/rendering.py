"""The three ways in which YARN writes a document: two dialects of JSON, and XML.

A document is a tree of structures (`yarn.views.documents`). The first dialect ("natural") writes
numbers as numbers and every list as a list; the second ("mapped") writes numbers and truth values
as texts, a list of one as its only item, and an empty object as null. The dialect of each path has
historical reasons in YARN, and clients depend on both. All three leave out a field that is UNSET,
and an empty list (Hadoop: JAXBContextResolver).
"""

from datetime import UTC, datetime
from functools import cache
from typing import Any
from xml.sax.saxutils import escape

import msgspec
from msgspec import UNSET

from fairshare.yarn.views.documents import Entries, Pair

XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_SCHEMA = "http://www.w3.org/2001/XMLSchema-instance"
_encoder = msgspec.json.Encoder()


def natural(root: str | None, document: object) -> bytes:
    """JSON of the first dialect; `root` is the name around it, None for no name.

    >>> from fairshare.yarn.views.documents import Document
    >>> class Size(Document):
    ...     memory: int
    >>> natural("size", Size(1024))
    b'{"size":{"memory":1024}}'
    """
    content = encoder.encode(document)
    if root is None:
        return content
    return b'{"' + root.encode() + b'":' + content + b"}"


_NO_ENTRIES = msgspec.Raw(b"{}")


def _natural_of(value: object) -> Any:
    """Hook for types that the encoder does not know: a map becomes an object with repeated keys."""
    if isinstance(value, Entries):
        if not value.pairs:
            return _NO_ENTRIES
        parts = [
            b'"entry":' + encoder.encode({"key": key, "value": item}) for key, item in value.pairs
        ]
        return msgspec.Raw(b"{" + b",".join(parts) + b"}")
    raise NotImplementedError(type(value).__name__)


encoder = msgspec.json.Encoder(enc_hook=_natural_of)


def raw(document: object) -> msgspec.Raw:
    """JSON of the first dialect as a part of a larger document."""
    return msgspec.Raw(encoder.encode(document))


def mapped(document: object) -> bytes:
    """JSON of the second dialect, without a name around it.

    >>> from fairshare.yarn.views.documents import Document
    >>> class Size(Document):
    ...     memory: int
    ...     labels: list[str]
    >>> mapped(Size(1024, ["x"]))
    b'{"memory":"1024","labels":"x"}'
    """
    found = _mapped(document)
    return _encoder.encode({} if found is None else found)


def _mapped(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Entries):
        pairs = [{"key": _mapped(key), "value": _mapped(item)} for key, item in value.pairs]
        return {"entry": pairs[0] if len(pairs) == 1 else pairs} if pairs else None
    if isinstance(value, list | tuple):
        items = [_mapped(item) for item in value]
        return items[0] if len(items) == 1 else items
    fields = {}
    kind: type[msgspec.Struct] = type(value)
    for name, key in names_of(kind):
        field = getattr(value, name)
        if field is UNSET or (isinstance(field, list | tuple) and not field):
            continue
        fields[key] = _mapped(field)
    return fields or None


def xml(root: str, document: object) -> bytes:
    """XML with this root element.

    >>> from fairshare.yarn.views.documents import Document
    >>> class Size(Document):
    ...     memory: int
    >>> xml("size", Size(1024)).decode().partition("?>")[2]
    '<size><memory>1024</memory></size>'
    """
    parts = [XML_DECLARATION]
    _element(root, document, parts)
    return "".join(parts).encode()


def _element(name: str, value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(f"<{name}>{escape(value)}</{name}>")
    elif isinstance(value, bool):
        parts.append(f"<{name}>{'true' if value else 'false'}</{name}>")
    elif isinstance(value, int | float):
        parts.append(f"<{name}>{value}</{name}>")
    elif isinstance(value, list | tuple):
        for item in value:
            _element(name, item, parts)
    elif isinstance(value, Entries):
        _object(name, "", [("entry", Pair(key, text)) for key, text in value.pairs], parts)
    else:
        form: type[msgspec.Struct] = type(value)
        fields = [
            (key, getattr(value, field))
            for field, key in names_of(form)
            if field != "type_" and getattr(value, field) is not UNSET
        ]
        kind = getattr(value, "type_", UNSET)
        attribute = f' xmlns:xsi="{_SCHEMA}" xsi:type="{kind}"' if kind is not UNSET else ""
        _object(name, attribute, fields, parts)


def _object(name: str, attribute: str, fields: list[tuple[str, Any]], parts: list[str]) -> None:
    inner: list[str] = []
    for key, value in fields:
        _element(key, value, inner)
    if inner:
        parts.append(f"<{name}{attribute}>{''.join(inner)}</{name}>")
    else:
        parts.append(f"<{name}{attribute}/>")


@cache
def names_of(document: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The fields of a kind of document: the attribute, and the name in the answer."""
    return tuple((f.name, f.encode_name) for f in msgspec.structs.fields(document))


def java_date(instant_ms: int) -> str:
    """An instant as Java writes a date.

    >>> java_date(1_562_325_630_000)
    'Fri Jul 05 11:20:30 +0000 2019'
    """
    return f"{datetime.fromtimestamp(instant_ms // 1_000, UTC):%a %b %d %H:%M:%S +0000 %Y}"
