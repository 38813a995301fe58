"""A struct is the form of a document: what is read, its schema and its table follow from it."""

from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest
from msgspec import Meta, field

from fairshare.documents.problems import Problems
from fairshare.documents.structs import At, Doc, document_schema, read, table_of
from fairshare.documents.values import Reader
from fairshare.documents.yaml_tree import read_yaml


class Wheel(msgspec.Struct, frozen=True):
    """A wheel.

    Some have spokes.
    """

    size_mb: Annotated[int, Meta(ge=1, le=2048), Doc("how large it is")]
    spokes: Annotated[Annotated[int, Meta(ge=3)] | None, Doc("how many", "any")] = None


class Car(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """The car."""

    owner_name: Annotated[str, Doc("its owner")] = "nobody"
    wheels: Annotated[tuple[Wheel, ...], Doc("its wheels", words="list of [wheels](#a-wheel)")]
    colour: Annotated[Literal["red", "blue"], Doc("its colour")] = "red"
    spare: Annotated[Wheel | None, Doc("one more")] = None
    prices: Annotated[dict[str, float], Doc("by country")] = {}
    is_new: Annotated[bool, Doc("whether it is new")] = field(name="new", default=False)

    def check(self, at: At) -> None:
        if len(self.wheels) == 3:
            at.wrong(f"{at.path('wheels')}: a car with three falls over", "wheels")


def car_of(text: str, **options: Any) -> tuple[Car | None, list[str]]:
    problems = Problems()
    root = read_yaml(text, "car.yaml", problems)
    assert root is not None
    car = read(root, Car, Reader(problems, "car", **options))
    return car, [f"{problem.line}: {problem.message}" for problem in problems.all]


def test_values_have_the_types_of_the_fields():
    text = "{wheels: [{size_mb: 1g, spokes: 4}], new: on, prices: {fr: 2}, colour: blue, spare: ~}"
    car = Car(wheels=(Wheel(1024, 4),), is_new=True, prices={"fr": 2.0}, colour="blue")
    assert car_of(text) == (car, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("wheels: [{size_mb: 0}]", "wheels[0].size_mb is 0: it must be at least 1"),
        ("wheels: [{size_mb: 1t}]", "wheels[0].size_mb is 1048576: it must be at most 2048"),
        ("wheels: [{size_mb: 1, spokes: 2}]", "wheels[0].spokes is 2: it must be at least 3"),
        ("wheels: [{spokes: 3}]", "wheels[0] needs a value for 'size_mb'"),
        ("wheels: [4]", "wheels[0] must be a mapping (name: value), found '4'"),
        ("wheels: 4", "wheels must be a list, found '4'"),
        ("{wheels: [], weels: []}", "unknown key 'weels': did you mean 'wheels'?"),
        ("{wheels: [], colour: green}", "colour must be 'blue' or 'red', found 'green'"),
        ("{wheels: [], prices: {fr: x}}", "prices.fr must be a number, found 'x'"),
        ("owner-name: x", "a car needs a value for 'wheels'"),
        ("[]", "a car must be a mapping (name: value), found a list"),
    ],
)
def test_a_mistake_is_reported_with_the_path_of_its_value(text, problem):
    assert car_of(text)[1] == [f"1: {problem}"]


def test_a_check_reports_at_its_key_beside_mistakes_of_other_keys():
    text = "new: x\nwheels: [{size_mb: 1}, {size_mb: 1}, {size_mb: 1}]"
    assert car_of(text)[1] == [
        "1: new: 'x' is neither true nor false: write true or false",
        "2: wheels: a car with three falls over",
    ]


def test_typed_documents_have_texts_in_quotation_marks_and_untyped_ones_words():
    assert car_of("{owner-name: 7, wheels: []}")[0] == Car(owner_name="7", wheels=())
    assert car_of("{owner-name: 7, wheels: [{size_mb: 1}]}", typed=True)[1] == [
        "1: owner-name must be a text: write 7 in quotation marks"
    ]
    car, problems = car_of("owner-name: null\nnew:\nwheels: [{size_mb: '3'}]", untyped=True)
    assert car == Car(owner_name="null", wheels=(Wheel(3),))
    assert problems == ["2: new is empty: leave the key out, or give it a value"]


def test_the_schema_takes_what_is_read():
    validator = jsonschema.Draft7Validator(document_schema("A car", Car))
    assert validator.is_valid({"wheels": [{"size_mb": 4, "spokes": 3}], "spare": None})
    for wrong in ({}, {"wheels": [{}]}, {"wheels": [], "new": "x"}, {"wheels": [], "x": 1}):
        assert not validator.is_valid(wrong)


def test_the_table_names_each_key_with_its_default():
    assert table_of(Wheel).splitlines()[:3] == ["## A wheel", "", "Some have spokes."]
    assert table_of(Car).splitlines()[4:] == [
        "| `owner-name` | text | its owner | `nobody` |",
        "| `wheels` | list of [wheels](#a-wheel) | its wheels | required |",
        "| `colour` | `blue`, `red` | its colour | `red` |",
        "| `spare` | [a wheel](#a-wheel) | one more | none |",
        "| `prices` | number by name | by country | none |",
        "| `new` | `true` or `false` | whether it is new | `false` |",
    ]
