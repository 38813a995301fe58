"""Vectors over named types."""

import pytest

from fairshare.core.model import resources
from fairshare.core.model.identifiers import (
    application_name,
    application_of,
    attempt_of,
    container_id,
    container_name,
    number_of,
    parse_application,
    parse_container,
)
from fairshare.core.model.queues import full_name, parent_name
from fairshare.core.model.resources import ResourceTypes


def test_vectors_of_two_and_of_more_types_follow_the_same_arithmetic() -> None:
    for extra in ((), (7,)):
        a, b = (1024, 2, *extra), (512, 3, *extra)
        assert resources.add(a, b) == (1536, 5, *(2 * x for x in extra))
        assert resources.subtract(a, b) == (512, -1, *(0 for _ in extra))
        assert not resources.fits(a, b)
        assert resources.fits(b, (512, 3, *extra))
        assert resources.smallest(a, b) == (512, 2, *extra)
        assert resources.largest(a, b) == (1024, 3, *extra)
    assert resources.positive((-1, 2)) == (0, 2)
    assert resources.scale((1024, 1), 3) == (3072, 3)


def test_a_type_that_does_not_exist_is_named() -> None:
    types = ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu"))
    assert types.vector({"yarn.io/gpu": 2}) == (0, 0, 2)
    with pytest.raises(KeyError, match="fpga"):
        types.vector({"fpga": 1})


def test_identifiers_are_written_as_hadoop_writes_them_and_read_back() -> None:
    container = container_id(12345, 2, 7)
    assert (application_of(container), attempt_of(container), number_of(container)) == (12345, 2, 7)
    assert application_name(1700, 7) == "application_1700_0007"
    assert container_name(1700, container) == "container_1700_12345_02_000007"
    assert parse_container(container_name(1700, container)) == container
    assert parse_application("application_1700_0007") == parse_application("7") == 7
    assert parse_application("job_7") is parse_container("x") is None


def test_names_of_queues_have_root_in_front() -> None:
    assert full_name("a.b") == full_name("root.a.b") == "root.a.b"
    assert full_name("rootx") == "root.rootx"
    assert parent_name("root.a.b") == "root.a"
    assert parent_name("root") == ""
