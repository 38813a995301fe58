"""Include and exclude files, and racks, are read as Hadoop reads them."""

import pytest

from fairshare.documents.problems import Problems
from fairshare.settings.site import Site
from fairshare.yarn.rpc.configuration import MAPPING, SCRIPT, TABLE, HostLists, Racks

TABLE_MAPPING = "org.apache.hadoop.net.TableMapping"


def test_without_files_all_hosts_are_allowed():
    assert HostLists().allows("any")


def test_a_host_must_be_included_and_not_excluded(tmp_path):
    include, exclude = tmp_path / "include", tmp_path / "exclude"
    include.write_text("n1 n2 # n4\n\n  n3\n")
    exclude.write_text("# none yet\n")
    lists = HostLists(str(include), str(exclude))
    assert lists.refresh() == []
    assert [lists.allows(f"n{number}") for number in (1, 2, 3, 4)] == [True, True, True, False]
    exclude.write_text("n2")
    assert lists.allows("n2"), "files count when they are refreshed"
    lists.refresh()
    assert not lists.allows("n2")


def test_an_exclude_file_of_xml_has_timeouts(tmp_path):
    exclude = tmp_path / "exclude.xml"
    exclude.write_text(
        "<hosts><host><name>n1, n2</name><timeout>600</timeout></host>"
        "<host><name>n3</name></host></hosts>"
    )
    lists = HostLists("", str(exclude))
    assert lists.refresh() == []
    assert lists.hosts.excluded == {"n1": 600, "n2": 600, "n3": None}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a", None, "cannot be read: No such file"),
        ("a", b"\xff\xfe", "is not UTF-8"),
        ("a.xml", b"<hosts>", "a.xml:1"),
        (
            "a.xml",
            b"<hosts><host><name>n</name><timeout>soon</timeout></host></hosts>",
            "the timeout 'soon' is not a number of seconds",
        ),
    ],
)
def test_a_file_that_cannot_be_used_changes_nothing(tmp_path, name, content, words):
    file = tmp_path / name
    file.write_bytes(b"n1" if name == "a" else b"<hosts><host><name>n1</name></host></hosts>")
    lists = HostLists("", str(file))
    lists.refresh()
    file.unlink() if content is None else file.write_bytes(content)
    (problem,) = lists.refresh()
    assert words in problem
    assert not lists.allows("n1")


def racks(**properties: object) -> tuple[Racks, list[str]]:
    problems = Problems()
    found = Racks.of(Site.of(properties), problems)
    return found, [str(problem) for problem in problems.all]


def test_all_hosts_are_in_the_default_rack_without_a_topology():
    found, problems = racks()
    assert (found.rack_of("n1"), problems) == ("/default-rack", [])


def test_a_table_has_the_racks(tmp_path):
    table = tmp_path / "table"
    table.write_text("n1 /r1\nn2\t/r2 # moved\n")
    found, problems = racks(**{MAPPING: TABLE_MAPPING, TABLE: table})
    assert problems == []
    assert [found.rack_of(name) for name in ("n1", "n2", "n3")] == ["/r1", "/r2", "/default-rack"]


def test_a_script_says_the_rack_of_a_host_once(tmp_path):
    script = tmp_path / "rack"
    script.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/asked\necho "/r-$1"\n')
    script.chmod(0o755)
    found, problems = racks(**{SCRIPT: script})
    assert problems == []
    assert [found.rack_of("n1"), found.rack_of("n1")] == ["/r-n1", "/r-n1"]
    assert (tmp_path / "asked").read_text() == "n1\n"


def test_a_script_that_fails_leaves_the_default_rack(tmp_path):
    script = tmp_path / "rack"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)
    found, _ = racks(**{SCRIPT: script})
    assert found.rack_of("n1") == "/default-rack"


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({MAPPING: TABLE_MAPPING, TABLE: "/nowhere"}, "/nowhere cannot be read"),
        ({MAPPING: "my.Own"}, "there are ScriptBasedMapping and TableMapping, no 'Own'"),
        ({SCRIPT: "/nowhere"}, "there is no file /nowhere"),
    ],
)
def test_a_topology_that_cannot_be_used_is_an_error(properties, words):
    _, problems = racks(**properties)
    assert any(words in problem for problem in problems)
