"""Which source is asked, and how long its answers count."""

from pathlib import Path

import pytest

from fairshare.errors import ConfigurationError
from fairshare.server.users import groups
from fairshare.server.users.groups import GroupsUnavailable, UserGroups, user_groups
from fairshare.settings.directory import read_directory

FAIR = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler"
OVERRIDES = "hadoop.user.group.static.mapping.overrides"


class CountingSource:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False

    def groups(self, user: str) -> tuple[str, ...]:
        self.asked.append(user)
        if self.fails:
            raise GroupsUnavailable(user, "away")
        return (f"{user}-{len(self.asked)}",)


@pytest.fixture
def source() -> CountingSource:
    return CountingSource()


def test_an_answer_counts_for_its_time(source):
    now_s = [0.0]
    lookup = UserGroups(source, cache_ms=5_000, now_s=lambda: now_s[0])
    found = []
    for now_s[0] in (0.0, 4.9, 5.0, 9.9):
        found += lookup.of("ann")
    assert found == ["ann-1", "ann-1", "ann-2", "ann-2"]


def test_without_a_cache_the_source_is_always_asked(source):
    lookup = UserGroups(source)
    assert [lookup.of("ann"), lookup.of("ann")] == [("ann-1",), ("ann-2",)]


def test_a_failure_is_not_remembered(source):
    lookup = UserGroups(source, cache_ms=5_000)
    source.fails = True
    with pytest.raises(GroupsUnavailable):
        lookup.of("ann")
    source.fails = False
    assert lookup.of("ann") == ("ann-2",)


def test_fixed_groups_are_not_looked_up(source):
    lookup = UserGroups(source, static={"ann": ("research",), "dr.who": ()})
    assert (lookup.of("ann"), lookup.of("dr.who")) == (("research",), ())
    assert source.asked == []


def test_no_more_users_are_remembered_than_allowed(source, monkeypatch):
    monkeypatch.setattr(groups, "MAX_REMEMBERED", 2)
    lookup = UserGroups(source, cache_ms=5_000, now_s=lambda: 0.0)
    for user in ("a", "b", "c", "b", "a"):
        lookup.of(user)
    assert source.asked == ["a", "b", "c", "a"]


def lookup_of(directory: Path, toml: str = "", **properties: object) -> UserGroups:
    return user_groups(read(directory, toml, **properties))


def read(directory: Path, toml: str, **properties: object):
    properties = {"yarn.resourcemanager.scheduler.class": FAIR, **properties}
    rows = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
    (directory / "fairshare.toml").write_text(toml)
    return read_directory(directory)


def test_a_file_counts_from_the_configuration_directory(tmp_path):
    (tmp_path / "groups").write_text("ann: research")
    assert lookup_of(tmp_path, '[users]\ngroups_file = "groups"').of("ann") == ("research",)


def test_a_bad_file_stops_the_start(tmp_path):
    (tmp_path / "groups").write_text("ann")
    with pytest.raises(ConfigurationError, match="groups:1: error"):
        lookup_of(tmp_path, '[users]\ngroups_file = "groups"')


def test_a_command_is_asked(tmp_path):
    lookup = lookup_of(tmp_path, '[users]\ngroups_command = ["echo", "staff", "{user}"]')
    assert lookup.of("ann") == ("staff", "ann")


def test_hadoops_fixed_groups_take_precedence(tmp_path):
    lookup = lookup_of(
        tmp_path,
        '[users]\ngroups_command = ["echo", "staff"]\n'.replace('"staff"', '"staff", "{user}"'),
        **{OVERRIDES: "ann=research,ads;dr.who=;"},
    )
    found = (lookup.of("ann"), lookup.of("dr.who"), lookup.of("bob"))
    assert found == (("research", "ads"), (), ("staff", "bob"))


@pytest.mark.parametrize("written", ["ann=a=b", "ann=a;=", "=="])
def test_a_fixed_group_that_is_written_wrongly_is_an_error(tmp_path, written):
    with pytest.raises(ConfigurationError, match="user=group1,group2"):
        read(tmp_path, "", **{OVERRIDES: written})


@pytest.mark.parametrize(
    ("written", "groups"), [("=ann", ()), ("ann", ()), ("ann==a", ("a",)), ("ann=a,b=", ("a", "b"))]
)
def test_a_fixed_group_may_have_any_signs_that_hadoop_passes_over(tmp_path, written, groups):
    assert lookup_of(tmp_path, "", **{OVERRIDES: written}).of("ann") == groups


def test_a_class_that_is_not_here_is_a_warning_unless_the_source_is_chosen(tmp_path):
    ldap = {"hadoop.security.group.mapping": "org.apache.hadoop.security.LdapGroupsMapping"}
    reported = [problem.rule for problem in read(tmp_path, "", **ldap).problems]
    assert "unsupported" in reported
    toml = '[users]\ngroups_command = ["id", "{user}"]'
    assert "unsupported" not in [p.rule for p in read(tmp_path, toml, **ldap).problems]
    shell = {
        "hadoop.security.group.mapping": "org.apache.hadoop.security.ShellBasedUnixGroupsMapping"
    }
    assert "unsupported" not in [p.rule for p in read(tmp_path, "", **shell).problems]
