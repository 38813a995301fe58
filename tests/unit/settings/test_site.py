"""Property files are merged, expanded and read by type; bad values are told with their place."""

from collections.abc import Callable
from typing import Any

import pytest

from fairshare.documents.problems import Problems
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_site


def file_of(*properties: str) -> str:
    """A file with one property in each line, the first one in line 2."""
    return "\n".join(["<configuration>", *properties, "</configuration>"])


def line(name: str, value: str, more: str = "") -> str:
    return f"<property><name>{name}</name><value>{value}</value>{more}</property>"


def test_properties_keep_their_order_file_and_line() -> None:
    problems = Problems()
    site = read_site([("y.xml", file_of(line("b", "1"), line(" a ", " 2 ")))], problems)
    assert [(p.name, p.value, str(p.place.line)) for p in site] == [
        ("b", "1", "2"),
        ("a", " 2 ", "3"),
    ]
    assert site.place("a").file == "y.xml"
    assert site.text("a", problems) == " 2 "
    assert site.string("a", "", problems) == "2"
    assert problems.all == ()


def test_a_later_file_wins_unless_the_earlier_value_is_final() -> None:
    problems = Problems()
    first = file_of(line("a", "1"), line("b", "1", "<final>true</final>"))
    second = file_of(line("a", "2"), line("b", "2"))
    site = read_site([("core.xml", first), ("yarn.xml", second)], problems)
    assert site.string("a", "", problems) == "2"
    assert site.string("b", "", problems) == "1"
    assert [str(p) for p in problems.all] == [
        "yarn.xml:3:32: warning: b is final in core.xml:3: this value has no effect [final]"
    ]


def test_a_property_that_is_set_twice_in_a_file_is_reported() -> None:
    problems = Problems()
    site = read_site([("y.xml", file_of(line("a", "1"), line("a", "2")))], problems)
    assert site.string("a", "", problems) == "2"
    assert "the value of line 2 has no effect" in str(problems.all[0])
    again = Problems()
    read_site([("y.xml", file_of(line("a", "1"), line("a", "1")))], again)
    assert again.all == ()


def test_properties_may_be_written_as_attributes_and_nested() -> None:
    problems = Problems()
    text = (
        '<configuration><configuration><property name="a" value="1" final="true"/>'
        "</configuration></configuration>"
    )
    site = read_site([("y.xml", text), ("z.xml", file_of(line("a", "2")))], problems)
    assert site.string("a", "", problems) == "1"


def test_an_empty_value_is_none_and_a_nameless_property_is_reported() -> None:
    problems = Problems()
    site = read_site(
        [("y.xml", file_of(line("a", ""), "<property><value>1</value></property>"))], problems
    )
    assert "a" not in site
    assert [p.rule for p in problems.all] == ["property"]


def test_descriptions_and_sources_are_ignored_other_elements_are_reported() -> None:
    problems = Problems()
    more = "<description>d</description><source>s</source><tag>t</tag><note/>"
    read_site([("y.xml", file_of(line("a", "1", more), "<other/>"))], problems)
    assert [(p.line, p.rule, p.severity) for p in problems.all] == [
        (2, "unknown-element", "warning"),
        (3, "unknown-element", "warning"),
    ]


def test_an_include_is_refused_with_the_name_of_the_other_file() -> None:
    problems = Problems()
    read_site([("y.xml", file_of('<xi:include href="more.xml"/>'))], problems)
    assert [p.severity for p in problems.all] == ["error"]
    assert str(problems.all[0]).startswith("y.xml:2:1: error: <xi:include> is not supported")
    assert "'more.xml'" in str(problems.all[0])


def test_all_files_are_read_before_errors_are_raised() -> None:
    problems = Problems()
    read_site([("a.xml", "<allocations/>"), ("b.xml", "<x"), ("c.xml", file_of())], problems)
    assert [(p.file, p.rule) for p in problems.all] == [
        ("a.xml", "configuration"),
        ("b.xml", "xml"),
    ]


def test_variables_are_replaced_by_other_properties_from_the_inside_out() -> None:
    problems = Problems()
    site = Site.of({"host": "${prefix}1", "prefix": "rm", "a.rm1": "deep", "x": "${a.${host}}!"})
    assert site.string("x", "", problems) == "deep!"
    assert problems.all == ()


def test_an_undefined_variable_stays_as_it_is_written() -> None:
    site = Site.of({"x": "${user.name}/${y}", "y": 7})
    assert site.string("x", "", Problems()) == "${user.name}/7"


def test_the_first_undefined_variable_ends_the_replacement() -> None:
    site = Site.of({"x": "${y}/${gone}/${y}", "y": 7})
    assert site.string("x", "", Problems()) == "7/${gone}/${y}"


def test_a_value_that_refers_to_itself_stays_as_it_is_written() -> None:
    problems = Problems()
    site = Site.of({"x": "${y}/${x}", "y": 7})
    assert site.string("x", "", problems) == "${y}/${x}"
    assert [(p.rule, p.severity) for p in problems.all] == [("variable", "trap")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env.HOME}", "/h"),
        ("${env.GONE:-d}", "d"),
        ("${env.GONE-d}", "d"),
        ("${env.BLANK:-d}", "d"),
        ("${env.BLANK-d}", ""),
        ("${env.GONE}", "${env.GONE}"),
    ],
)
def test_variables_of_the_environment_may_have_a_default(text: str, value: str) -> None:
    problems = Problems()
    environment = {"HOME": "/h", "BLANK": ""}
    site = read_site([("y.xml", file_of(line("x", text)))], problems, environment)
    assert site.string("x", "", problems) == value


def test_a_variable_that_needs_itself_is_an_error() -> None:
    problems = Problems()
    site = Site.of({"a": "${b}", "b": "x${a}"})
    site.string("a", "", problems)
    assert [p.rule for p in problems.errors] == ["variable"]


Getter = Callable[[Site, Problems], Any]


@pytest.mark.parametrize(
    ("value", "getter", "expected"),
    [
        (" 12 ", lambda s, p: s.integer("k", 0, p), 12),
        ("0x10", lambda s, p: s.integer("k", 0, p), 16),
        ("9999999999", lambda s, p: s.long("k", 0, p), 9999999999),
        ("0.2", lambda s, p: s.single("k", 0, p), 0.20000000298023224),
        ("0.2", lambda s, p: s.double("k", 0, p), 0.2),
        ("2m", lambda s, p: s.duration_ms("k", 0, p), 120_000),
        ("2", lambda s, p: s.duration_ms("k", 0, p, "s"), 2_000),
        ("TRUE", lambda s, p: s.boolean("k", False, p), True),
        ("a, b,,c ", lambda s, p: s.strings("k", p), ("a", "b", "c")),
        ("\n a\n b\r\n, c,a", lambda s, p: s.strings("k", p), ("a", "b", "c")),
        (",a,,b\na,,", lambda s, p: s.parts("k", p), ("", "a", "", "b", "a")),
        ("a\nb, c,", lambda s, p: s.between_commas("k", p), ("a\nb", "c")),
    ],
)
def test_values_are_read_by_type(value: str, getter: Getter, expected: object) -> None:
    problems = Problems()
    assert getter(Site.of({"k": value}), problems) == expected
    assert problems.all == ()


@pytest.mark.parametrize(
    ("getter", "expected"),
    [
        (lambda s, p: s.string("k", "d", p), "d"),
        (lambda s, p: s.strings("k", p), ()),
        (lambda s, p: s.integer("k", 3, p), 3),
        (lambda s, p: s.single("k", 0.8, p), 0.800000011920929),
        (lambda s, p: s.boolean("k", True, p), True),
        (lambda s, p: s.duration_ms("k", 5, p), 5),
    ],
)
def test_what_is_not_set_has_the_default(getter: Getter, expected: object) -> None:
    assert getter(Site.of({}), Problems()) == expected


@pytest.mark.parametrize(
    "getter",
    [
        lambda s, p: s.integer("k", 3, p),
        lambda s, p: s.long("k", 3, p),
        lambda s, p: s.single("k", 3, p),
        lambda s, p: s.double("k", 3, p),
        lambda s, p: s.duration_ms("k", 3, p),
    ],
)
def test_a_bad_value_is_an_error_at_its_place(getter: Getter) -> None:
    problems = Problems()
    site = read_site([("y.xml", file_of(line("k", "three")))], problems)
    assert getter(site, problems) == 3
    assert len(problems.errors) == 1
    assert str(problems.errors[0]).startswith("y.xml:2:32: error: k: 'three' is not a ")


def test_a_number_below_the_least_is_an_error() -> None:
    problems = Problems()
    assert Site.of({"k": 0}).integer("k", 2, problems, minimum=1) == 2
    assert str(problems.all[0]) == (
        "properties: error: k is 0: it must be at least 1 [property-value]"
    )


def test_an_invalid_boolean_counts_as_the_default_and_is_reported() -> None:
    problems = Problems()
    assert Site.of({"k": "yes"}).boolean("k", False, problems) is False
    assert [p.severity for p in problems.all] == ["trap"]


def test_plain_values_are_written_as_hadoop_writes_them() -> None:
    site = Site.of({"t": True, "n": 12, "f": 0.5, "gone": None})
    assert [(p.name, p.value) for p in site] == [("t", "true"), ("n", "12"), ("f", "0.5")]


def test_a_copy_with_other_values_leaves_the_site_as_it_is() -> None:
    site = Site.of({"a": 1, "b": 2})
    other = site.with_values({"a": 3, "b": None})
    problems = Problems()
    assert (other.string("a", "", problems), "b" in other) == ("3", False)
    assert (site.string("a", "", problems), "b" in site) == ("1", True)


def test_a_site_knows_its_unread_properties() -> None:
    problems = Problems()
    site = Site.of({"y.a": 1, "y.b": 2, "z": 3, "y.c": "${y.d}", "y.d": 4})
    site.integer("y.a", 0, problems)
    site.integer("y.c", 0, problems)
    assert [p.name for p in site.unread("y.")] == ["y.b"]
