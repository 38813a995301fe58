"""Where the Capacity Scheduler's configuration is kept, as yarn-site.xml says."""

from pathlib import Path

import pytest

from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.errors import ConfigurationError
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory

CLASS = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
STORE = "yarn.scheduler.configuration.store.class"
P = "yarn.scheduler.capacity."


def read(directory: Path, stored: dict[str, str] | None = None, **properties: str) -> Configuration:
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in {"yarn.resourcemanager.scheduler.class": CLASS, **properties}.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>\n{rows}</configuration>")
    (directory / "capacity-scheduler.xml").write_text(
        f"<configuration><property><name>{P}root.queues</name><value>${{those}}</value></property>"
        "<property><name>those</name><value>a</value></property>"
        f"<property><name>{P}root.a.capacity</name><value>100</value></property></configuration>"
    )
    return read_directory(directory, stored=stored)


def test_by_default_the_file_alone_counts(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert (found.store.kind, found.store.mutable) == ("file", False)
    assert found.problems == ()


@pytest.mark.parametrize(
    ("store", "kind", "reported"),
    [
        ("memory", "memory", None),
        ("leveldb", "persistent", "not in LevelDB"),
        ("zk", "persistent", "not in ZooKeeper"),
        ("fs", "persistent", "a file system"),
    ],
)
def test_other_stores_take_changes_and_say_where(
    tmp_path: Path, store: str, kind: str, reported: str | None
) -> None:
    found = read(tmp_path, **{STORE: store})
    assert (found.store.kind, found.store.mutable) == (kind, True)
    problems = [(problem.line, problem.rule) for problem in found.problems]
    assert problems == ([] if reported is None else [(3, "unsupported")])
    assert reported is None or reported in found.problems[0].message


def test_what_is_written_is_kept_as_it_is_written(tmp_path: Path) -> None:
    assert dict(read(tmp_path).store.written) == {
        f"{P}root.queues": "${those}",
        "those": "a",
        f"{P}root.a.capacity": "100",
    }


def test_stored_properties_hold_instead_of_the_file(tmp_path: Path) -> None:
    stored = {f"{P}root.queues": "z", f"{P}root.z.capacity": "100"}
    found = read(tmp_path, stored, **{STORE: "memory"})
    assert isinstance(found.settings, CapacitySettings)
    assert list(found.settings.queues) == ["root", "root.z"]
    assert dict(found.store.written) == stored


def test_unknown_stores_and_policies_are_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(
            tmp_path,
            **{STORE: "etcd", "yarn.scheduler.configuration.mutation.acl-policy.class": "x.Y"},
        )
    first, second = (str(problem) for problem in caught.value.problems)
    assert ":3:" in first
    assert "Invalid configuration store class: etcd (there are file, memory, leveldb" in first
    assert ":4:" in second
    assert "there is no policy 'x.Y'" in second


def test_a_policy_of_changes_counts_only_where_something_can_change(tmp_path: Path) -> None:
    policy = {"yarn.scheduler.configuration.mutation.acl-policy.class": "x.Y"}
    (problem,) = read(tmp_path, **policy).problems
    assert (problem.severity, "there is no policy 'x.Y'" in problem.message) == ("warning", True)
    with pytest.raises(ConfigurationError, match=r"there is no policy 'x\.Y'"):
        read(tmp_path, **{STORE: "memory"}, **policy)


def test_settings_of_an_unsupported_store_are_reported(tmp_path: Path) -> None:
    path = "yarn.scheduler.configuration.leveldb-store.path"
    (problem,) = read(tmp_path, **{path: "/var/lib"}).problems
    assert (problem.line, problem.rule) == (3, "unsupported")
    assert f"{path} has no effect: {STORE} is file" in problem.message
    problems = read(tmp_path, **{STORE: "leveldb", path: "/var/lib"}).problems
    assert "changes are kept in the state directory" in problems[-1].message
