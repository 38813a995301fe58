"""The three ways in which YARN writes a document."""

import json

from msgspec import UNSET, UnsetType

from fairshare.yarn.rest.rendering import mapped, natural, xml
from fairshare.yarn.views.documents import Document, Entries


class Inner(Document):
    pass


class Sample(Document, rename={"type_": "type"}):
    type_: str | UnsetType
    count: int
    share: float
    labels: list[str]
    amounts: Entries
    inner: Inner
    text: str = ""


ONE = Sample(UNSET, 2, 0.5, ["x"], Entries((("mb", "1"), ("vcores", "2"))), Inner())


def test_the_natural_dialect_keeps_kinds_and_repeats_the_keys_of_a_map():
    text = natural("sample", ONE).decode()
    assert text == (
        '{"sample":{"count":2,"share":0.5,"labels":["x"],'
        '"amounts":{"entry":{"key":"mb","value":"1"},"entry":{"key":"vcores","value":"2"}},'
        '"inner":{},"text":""}}'
    )


def test_the_mapped_dialect_writes_texts_and_bare_items():
    assert json.loads(mapped(ONE)) == {
        "count": "2",
        "share": "0.5",
        "labels": "x",
        "amounts": {"entry": [{"key": "mb", "value": "1"}, {"key": "vcores", "value": "2"}]},
        "inner": None,
        "text": "",
    }


def test_xml_names_the_kind_in_an_attribute_and_escapes_text():
    kind = Sample("leaf", 2, 0.5, [], Entries(), Inner(), "a<b&c")
    text = xml("sample", kind).decode()
    assert 'xsi:type="leaf"' in text
    assert "<inner/>" in text
    assert "<amounts/>" in text
    assert "<text>a&lt;b&amp;c</text>" in text
    assert "labels" not in text
