"""Queue mappings are read in both of their forms."""

import json

import pytest

from fairshare.core.placement.mapping import MappingAction, MappingFallback, MappingRule, Matcher
from fairshare.documents.problems import Problems
from fairshare.settings.capacity.mappings import (
    APPLICATION_MAPPINGS,
    ENGINES,
    FORMAT,
    JSON,
    JSON_FILE,
    MAPPINGS,
    read_mappings,
)
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_site


def no_file(name: str) -> bytes:
    raise FileNotFoundError(2, "nothing there", name)


def read(values: dict[str, object]) -> tuple[MappingRule, ...]:
    problems = Problems()
    rules = read_mappings(Site.of(values), problems, no_file)
    assert problems.all == ()
    return rules


def reported(values: dict[str, object]) -> list[str]:
    problems = Problems()
    read_mappings(Site.of(values), problems, no_file)
    return [f"{problem.severity}: {problem.message}" for problem in problems.all]


def rule(**parts: object) -> dict[str, object]:
    return {"type": "user", "matches": "*", "policy": "user"} | parts


def read_json(*rules: object) -> tuple[MappingRule, ...]:
    return read({FORMAT: "json", JSON: json.dumps({"rules": rules})})


def json_problems(*rules: object) -> list[str]:
    return reported({FORMAT: "json", JSON: json.dumps({"rules": rules})})


def test_legacy_mappings_are_of_users_and_groups_and_then_of_applications() -> None:
    back = MappingFallback.PLACE_DEFAULT
    found = read(
        {
            MAPPINGS: " u:ann:root.a, g : dev : q ,u:%user:%primary_group",
            APPLICATION_MAPPINGS: "nightly:root.batch",
        }
    )
    assert found == (
        MappingRule(Matcher.USER, "ann", path="root.a", fallback=back, source="u:ann:root.a"),
        MappingRule(Matcher.GROUP, "dev", path="q", fallback=back, source="g : dev : q"),
        MappingRule(
            Matcher.ALL, path="%primary_group", fallback=back, source="u:%user:%primary_group"
        ),
        MappingRule(
            Matcher.APPLICATION,
            "nightly",
            path="root.batch",
            fallback=back,
            source="nightly:root.batch",
        ),
    )
    assert all(rule.create for rule in found)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({MAPPINGS: "u:ann"}, "Illegal queue mapping 'u:ann'"),
        ({MAPPINGS: "u::root.a"}, "Illegal queue mapping 'u::root.a'"),
        ({MAPPINGS: "x:ann:root.a"}, "unknown mapping prefix 'x'"),
        ({APPLICATION_MAPPINGS: "u:ann:root.a"}, "Illegal queue mapping 'u:ann:root.a'"),
        ({FORMAT: "xml"}, "Illegal queue mapping format 'xml'"),
        ({ENGINES: "com.example.Rule"}, "there is no placement rule 'com.example.Rule'"),
        ({ENGINES: "user-group,user-group"}, "Invalid PlacementRule inputs"),
    ],
)
def test_a_bad_mapping_is_refused_in_hadoops_words(values: dict[str, object], message: str) -> None:
    (only,) = reported(values)
    assert only.startswith("error: ")
    assert message in only


def test_all_bad_mappings_are_reported_and_the_others_read() -> None:
    problems = Problems()
    site = Site.of({MAPPINGS: "u:ann,u:bob:root.b,y:z:q"})
    rules = read_mappings(site, problems, no_file)
    assert [rule.match for rule in rules] == ["bob"]
    assert len(problems.errors) == 2


def test_the_other_forms_rules_have_no_effect() -> None:
    assert reported({JSON: "{}", MAPPINGS: "u:a:b"}) == [
        f"warning: {JSON} has no effect: {FORMAT} is legacy"
    ]
    messages = reported({FORMAT: "json", JSON: "{}", MAPPINGS: "u:a:b"})
    assert messages == [f"warning: {MAPPINGS} has no effect: {FORMAT} is json"]


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ("user", "%user"),
        ("applicationName", "%application"),
        ("primaryGroup", "%primary_group"),
        ("primaryGroupUser", "%primary_group.%user"),
        ("secondaryGroup", "%secondary_group"),
        ("secondaryGroupUser", "%secondary_group.%user"),
    ],
)
def test_a_policy_of_json_is_a_path_with_variables(policy: str, path: str) -> None:
    with_parent, without = read_json(rule(policy=policy, parentQueue="root.p"), rule(policy=policy))
    assert with_parent.path == f"root.p.{path}"
    assert without.path == path
    assert without.action is MappingAction.PLACE
    assert without.create
    assert without.fallback is MappingFallback.SKIP


def test_the_other_policies_of_json() -> None:
    found = read_json(
        rule(policy="specified"),
        rule(policy="defaultQueue"),
        rule(policy="reject"),
        rule(policy="custom", customPlacement="root.%user.x", create=False),
        rule(policy="setDefaultQueue", value="root.d", fallbackResult="reject"),
    )
    assert [(r.action, r.path, r.create) for r in found] == [
        (MappingAction.PLACE, "%specified", True),
        (MappingAction.PLACE, "%default", False),
        (MappingAction.REJECT, "", True),
        (MappingAction.PLACE, "root.%user.x", False),
        (MappingAction.SET_DEFAULT, "root.d", True),
    ]
    assert found[-1].fallback is MappingFallback.REJECT


def test_a_star_means_all_users_but_is_a_name_of_applications() -> None:
    users, application = read_json(rule(), rule(type="application"))
    assert (users.matcher, users.match) == (Matcher.ALL, "")
    assert (application.matcher, application.match) == (Matcher.APPLICATION, "*")
    (number,) = read_json(rule(matches=2024, create="false"))
    assert (number.match, number.create) == ("2024", False)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"policy": None}, "Rule policy is undefined"),
        ({"policy": "mine"}, "there is no policy 'mine'"),
        ({"type": None}, "Rule type is undefined"),
        ({"type": "users"}, "there is no type 'users'"),
        ({"matches": ""}, "Match string is undefined or empty"),
        ({"type": "group"}, "Cannot match '*' for groups"),
        ({"policy": "custom"}, "custom queue is undefined"),
        ({"policy": "setDefaultQueue"}, "default queue is undefined"),
        ({"fallbackResult": "none"}, "there is no fallbackResult 'none'"),
        ({"create": "maybe"}, "create must be true or false"),
        ({"value": ["a"]}, "value must be a text"),
    ],
)
def test_a_bad_rule_of_json_is_refused_with_its_number(
    parts: dict[str, object], message: str
) -> None:
    (only,) = json_problems(rule(), rule(**parts))
    assert only.startswith(f"error: mapping rule 2: {message}")


def test_an_unknown_key_of_json_is_reported_and_ignored() -> None:
    assert json_problems(rule(because="so")) == [
        "warning: 'because' in mapping rule 1 is unknown and has no effect"
    ]


def test_what_is_not_json_is_refused_at_its_line() -> None:
    problems = Problems()
    text = f"""<configuration>
    <property><name>{FORMAT}</name><value>json</value></property>
    <property><name>{JSON}</name><value>{{"rules": [
      {{"type": }}
    ]}}</value></property>
    </configuration>"""
    site = read_site([("c.xml", text)], problems)
    assert read_mappings(site, problems, no_file) == ()
    assert str(problems.all[0]).startswith("c.xml:4:16: error: the mapping rules are not JSON")


@pytest.mark.parametrize("text", ["[]", '{"rules": {}}', "3", "[" * 100_000])
def test_json_of_another_shape_is_refused(text: str) -> None:
    (only,) = reported({FORMAT: "json", JSON: text})
    assert only.startswith("error: the mapping rules ")


def test_rules_come_from_a_file_when_none_are_inline() -> None:
    def read_file(name: str) -> bytes:
        assert name == "rules.json"
        return json.dumps({"rules": [rule()]}).encode()

    problems = Problems()
    site = Site.of({FORMAT: "json", JSON_FILE: " rules.json "})
    assert [r.path for r in read_mappings(site, problems, read_file)] == ["%user"]
    assert problems.all == ()
    (message,) = reported({FORMAT: "json", JSON_FILE: "rules.json"})
    assert message == f"error: {JSON_FILE}: rules.json cannot be read: nothing there"


def test_json_without_rules_is_only_warned_of() -> None:
    (message,) = reported({FORMAT: "json"})
    assert message.startswith("warning: there are no mapping rules")
