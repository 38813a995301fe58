"""XML becomes elements with places; what could do harm is refused with a place."""

import pytest

from fairshare.documents import xml
from fairshare.documents.problems import Place, Problems


def parse(document: str | bytes) -> tuple[xml.Element | None, list[str]]:
    problems = Problems()
    root = xml.parse(document, "f.xml", problems)
    return root, [str(problem) for problem in problems.all]


def read(document: str | bytes) -> xml.Element:
    root, problems = parse(document)
    assert root is not None, problems
    assert problems == []
    return root


def test_every_element_knows_its_line_and_column() -> None:
    root = read("<a>\n  <b/><c>\n</c></a>")
    assert root.place == Place("f.xml", 1, 1)
    assert [child.place for child in root.children] == [
        Place("f.xml", 2, 3),
        Place("f.xml", 2, 7),
    ]


def test_a_text_knows_the_place_of_its_first_character() -> None:
    root = read("<a>\n\n   text <b/></a>")
    assert root.text == "\n\n   text "
    assert root.trimmed == "text"
    assert root.text_place == Place("f.xml", 3, 4)


def test_columns_count_characters_not_bytes() -> None:
    root = read('<a x="öäü€𝄞"><b>é</b></a>')
    assert root.children[0].place.column == 14
    assert root.children[0].text_place.column == 17


def test_an_element_without_text_has_its_own_place_for_it() -> None:
    root = read("<a>\n <b>  </b></a>")
    assert root.children[0].text == "  "
    assert root.children[0].text_place == root.children[0].place


def test_only_the_text_before_the_first_child_counts() -> None:
    assert read("<a>one<b/>two</a>").text == "one"


def test_comments_and_sections_do_not_divide_a_text() -> None:
    root = read("<a>o<!-- x -->n<![CDATA[<e>]]>&amp;</a>")
    assert root.text == "on<e>&"


def test_an_element_with_a_comment_is_empty_and_one_with_a_blank_is_not() -> None:
    root = read("<a><b><!-- x --></b><c> </c><d><e/></d></a>")
    assert [child.empty for child in root.children] == [True, False, False]


def test_bytes_are_decoded_as_the_declaration_says() -> None:
    document = '<?xml version="1.0" encoding="ISO-8859-1"?><a n="ü">ß</a>'.encode("latin-1")
    root = read(document)
    assert (root.attributes["n"], root.text) == ("ü", "ß")


def test_a_declared_encoding_does_not_matter_for_text() -> None:
    assert read('<?xml version="1.0" encoding="ISO-8859-1"?><a>ß</a>').text == "ß"


@pytest.mark.parametrize(
    ("document", "line", "column", "reason"),
    [
        ("<a>\n  <b></a>", 2, 8, "mismatched tag; <b> of line 2 is still open"),
        ("", 1, 1, "no element found"),
        ("<a/><b/>", 1, 5, "junk after document element"),
        ("<a>&nbsp;</a>", 1, 4, "undefined entity; <a> of line 1 is still open"),
        ("<%= erb %>", 1, 2, "not well-formed (invalid token)"),
    ],
)
def test_bad_xml_is_reported_with_its_place(
    document: str, line: int, column: int, reason: str
) -> None:
    root, problems = parse(document)
    assert root is None
    assert problems == [f"f.xml:{line}:{column}: error: bad XML: {reason} [xml]"]


def test_a_document_type_is_refused_before_its_entities_are_read() -> None:
    root, problems = parse('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<a>&x;</a>')
    assert root is None
    assert len(problems) == 1
    assert "f.xml:1:" in problems[0]
    assert "document type" in problems[0]


def test_elements_nested_too_deep_are_refused() -> None:
    deepest = xml.MAX_DEPTH
    assert parse("<a>" * deepest + "</a>" * deepest)[0] is not None
    root, problems = parse("<a>" * (deepest + 1) + "</a>" * (deepest + 1))
    assert root is None
    assert problems == [
        f"f.xml:1:{3 * deepest + 1}: error: elements are nested deeper than 200 levels [xml]"
    ]


def test_too_many_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 3)
    assert parse("<a><b/><b/></a>")[0] is not None
    root, problems = parse("<a><b/><b/><b/></a>")
    assert root is None
    assert problems == ["f.xml:1:12: error: there are more than 3 elements [xml]"]


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    root, problems = parse(b"<" * (xml.MAX_BYTES + 1))
    assert root is None
    assert problems == ["f.xml: error: the file is larger than 8 MiB: split it [xml]"]


@pytest.mark.parametrize(
    "document", [b'<?xml version="1.0" encoding="no-such-code"?><a/>', "<a>\ud800</a>"]
)
def test_characters_that_cannot_be_decoded_are_reported(document: str | bytes) -> None:
    root, problems = parse(document)
    assert root is None
    assert len(problems) == 1
    assert problems[0].startswith("f.xml:1:")


@pytest.mark.parametrize("charset", ["GBK", "gb2312", "Big5", "Shift_JIS", "EUC-KR", "GB18030"])
def test_charsets_of_several_bytes_are_read(charset: str) -> None:
    text = {"EUC-KR": "\ud55c", "Shift_JIS": "\u8a9e"}.get(charset, "\u4e2d")
    document = f'<?xml version="1.0" encoding="{charset}"?><a>{text}</a>'
    assert read(document.encode(charset.lower())).text == text


def test_bytes_that_are_not_of_their_charset_are_refused() -> None:
    root, problems = parse(b'<?xml version="1.0" encoding="GBK"?><a>\xff</a>')
    assert root is None
    assert "cannot be decoded" in problems[0]
