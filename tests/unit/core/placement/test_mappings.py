"""Queue mappings choose a queue as Hadoop's do; what can never be reached is told before."""

import pytest

from fairshare.core.placement.mapping import (
    MappingAction,
    MappingFallback,
    MappingRequest,
    MappingRule,
    Matcher,
    faults,
    place,
)
from fairshare.core.placement.rules import Misplaced

ANN = MappingRequest("ann", ("staff", "devs"))


class Tree:
    """Queues by path; `parents` are no leaves, `makers` make queues in the new way, `old_makers`
    in the old one."""

    def __init__(
        self,
        leaves: str,
        parents: str = "root",
        makers: str = "",
        old_makers: str = "",
    ) -> None:
        self.makers, self.old_makers = makers.split(), old_makers.split()
        self.parents = [*parents.split(), *self.makers, *self.old_makers]
        self.paths = [*leaves.split(), *self.parents]

    def _carriers(self, name: str) -> list[str]:
        return [path for path in self.paths if path.rpartition(".")[2] == name]

    def find(self, name: str) -> str | None:
        if name in self.paths:
            return name
        found = self._carriers(name)
        return found[0] if len(found) == 1 else None

    def is_ambiguous(self, name: str) -> bool:
        return len(self._carriers(name)) > 1

    def is_leaf(self, path: str) -> bool:
        return path not in self.parents

    def makes_leaves(self, path: str) -> bool:
        return path in self.makers or path in self.old_makers

    def makes_parents(self, path: str) -> bool:
        return path in self.makers


TREE = Tree(
    "root.default root.a root.ann root.p.q root.x.twin root.y.twin root.people.staff",
    parents="root root.p root.x root.y root.people",
    makers="root.new",
    old_makers="root.old",
)


def to(path: str, *, create: bool = True, fallback: str = "skip", **match: str) -> MappingRule:
    """A rule for everybody, or for a `user`, `group` or `application`."""
    matcher = Matcher(next(iter(match), "all"))
    name = next(iter(match.values()), "")
    return MappingRule(matcher, name, path=path, create=create, fallback=MappingFallback(fallback))


def placed(*rules: MappingRule, request: MappingRequest = ANN, tree: Tree = TREE) -> str | None:
    return place(rules, request, tree)


def test_rules_have_no_say_when_a_queue_was_asked_for_unless_they_override() -> None:
    named = MappingRequest("ann", queue="root.p.q")
    rules = [to("root.a")]
    assert place(rules, named, TREE) is None
    assert place(rules, named, TREE, override=True) == "root.a"
    assert place(rules, MappingRequest("ann", queue="root.default"), TREE) is None
    assert place(rules, MappingRequest("ann", queue="default"), TREE) == "root.a"


def test_the_first_rule_that_matches_and_can_place_wins() -> None:
    assert placed(to("root.p.q", user="bob"), to("root.a"), to("root.ann")) == "root.a"
    assert placed(to("root.p.q", user="bob")) is None
    assert placed() is None


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (to("root.a", user="ann"), True),
        (to("root.a", user="%user"), True),
        (to("root.a", user="%primary_group"), False),
        (to("root.a", group="staff"), True),
        (to("root.a", group="devs"), True),
        (to("root.a", group="ops"), False),
        (to("root.a", application="nightly"), True),
        (to("root.a", application="%application"), True),
        (to("root.a", application="%user-nightly"), False),
        (to("root.a", application="*"), False),
    ],
)
def test_rules_match_users_groups_and_applications(rule: MappingRule, matches: bool) -> None:
    request = MappingRequest("ann", ("staff", "devs"), application="nightly")
    assert placed(rule, request=request) == ("root.a" if matches else None)


def test_variables_may_be_anywhere_in_the_matched_text() -> None:
    request = MappingRequest("ann", ("staff",), application="ann-staff")
    assert placed(to("root.a", application="%user-%primary_group"), request=request) == "root.a"


def test_names_with_periods_match_as_they_are_and_become_one_part_of_a_path() -> None:
    request = MappingRequest("j.doe", ("a.b",))
    assert placed(to("root.new.%user", user="j.doe"), request=request) == "root.new.j_dot_doe"
    assert placed(to("root.new.%primary_group", group="a.b"), request=request) == "root.new.a_dot_b"
    assert placed(to("root.a", user="%user"), request=request) is None  # %user is j_dot_doe


def test_only_whole_parts_of_a_path_are_variables() -> None:
    assert placed(to("root.%user")) == "root.ann"
    assert placed(to("root.x%user")) is None
    assert placed(to("root.new.x-%user")) == "root.new.x-%user"


def test_a_path_may_begin_with_a_short_name() -> None:
    assert placed(to("q")) == "root.p.q"
    assert placed(to("p.q")) == "root.p.q"
    assert placed(to("people.%primary_group")) == "root.people.staff"
    assert placed(to("twin"), to("root.a")) == "root.a"  # two queues carry this name


def test_the_secondary_group_is_the_first_with_a_queue_at_this_place() -> None:
    request = MappingRequest("ann", ("first", "second", "staff"))
    assert placed(to("root.people.%secondary_group"), request=request) == "root.people.staff"
    assert placed(to("%secondary_group"), request=request) == "root.people.staff"
    only = MappingRequest("ann", ("staff",))
    assert placed(to("root.people.%secondary_group"), request=only) is None
    assert placed(to("root.new.%secondary_group.%user"), request=request) is None


def test_specified_is_the_queue_that_was_asked_for() -> None:
    rules = [to("%specified"), to("root.a")]
    assert place(rules, MappingRequest("ann", queue="p.q"), TREE, override=True) == "root.p.q"
    assert place(rules, ANN, TREE, override=True) == "root.a"


@pytest.mark.parametrize("path", ["root.p", "root.nowhere", "nowhere", "root..a", "", "root"])
def test_a_queue_that_cannot_be_used_leads_to_the_fallback(path: str) -> None:
    assert placed(to(path), to("root.a")) == "root.a"
    assert placed(to(path, fallback="place-default"), to("root.a")) == "root.default"
    with pytest.raises(Misplaced, match="user ann to queue default was rejected"):
        placed(to(path, fallback="reject"), to("root.a"))


def test_a_fallback_to_a_default_that_is_not_there_refuses() -> None:
    tree = Tree("root.a")
    with pytest.raises(Misplaced, match="the default queue cannot be used"):
        placed(to("root.b", fallback="place-default"), to("root.a"), tree=tree)


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("root.new.ann", True),
        ("root.new.team.ann", True),
        ("root.new.one.two.ann", False),
        ("root.old.ann", True),
        ("root.old.team.ann", False),
        ("root.p.ann", False),
        ("root.a.ann", False),
    ],
)
def test_a_queue_may_be_made_where_its_parents_make_some(path: str, made: bool) -> None:
    assert placed(to(path)) == (path if made else None)
    assert placed(to(path, create=False)) is None


def test_the_default_may_be_another_queue_for_the_rules_that_follow() -> None:
    other = MappingRule(Matcher.ALL, action=MappingAction.SET_DEFAULT, path="root.%user")
    default = to("%default", create=False)
    assert placed(default, other) == "root.default"
    assert placed(other, default) == "root.ann"
    assert placed(other, to("root.b", fallback="place-default")) == "root.ann"


def test_a_rule_may_refuse() -> None:
    reject = MappingRule(Matcher.USER, "ann", MappingAction.REJECT)
    with pytest.raises(Misplaced, match="by a mapping rule: rule 2 refuses it"):
        placed(to("root.p"), reject)
    bob = MappingRequest("bob", ("staff",))
    assert placed(reject, to("root.a"), request=bob) == "root.a"


def test_a_user_without_groups_has_no_variables_of_groups() -> None:
    nobody = MappingRequest("bob")
    assert placed(to("root.a", group="staff"), request=nobody) is None
    assert placed(to("root.people.%primary_group"), request=nobody) is None


def wrong(path: str) -> str | None:
    found = list(faults([to("root.a"), to(path)], TREE))
    if not found:
        return None
    (fault,) = found
    assert fault.position == 1
    return fault.message


@pytest.mark.parametrize(
    "path",
    [
        "root.a",
        "q",
        "%default",
        "%user",
        "root.people.%user",
        "people.%user.x",
        "root.new.team.ann",
        "root.new.team.%user",
        "root.old.%user",
    ],
)
def test_a_rule_that_a_user_may_reach_is_fine(path: str) -> None:
    assert wrong(path) is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("root.p", "is a parent queue"),
        ("nowhere", "the queue 'nowhere' does not exist"),
        ("twin", "the queue 'twin' is ambiguous"),
        ("root.a.b", "below 'root.a', which is not a dynamic parent queue"),
        ("root.old.team.ann", "below 'root.old.team'"),
        ("root.a.%user", "'root.a' is a leaf queue"),
        ("twin.%user", "'twin' is ambiguous"),
        ("root.p.none.%user", "there is no queue 'root.p.none'"),
        ("root.a.b.%user", "there is no queue 'root.a.b'"),
        ("root..a", "has an empty part"),
        ("", "has an empty part"),
    ],
)
def test_a_rule_that_no_user_can_reach_is_reported(path: str, message: str) -> None:
    reported = wrong(path)
    assert reported is not None
    assert reported.startswith("Illegal queue mapping ")
    assert message in reported


def test_rules_that_place_no_application_are_not_checked() -> None:
    rules = [
        MappingRule(Matcher.ALL, action=MappingAction.REJECT),
        MappingRule(Matcher.ALL, action=MappingAction.SET_DEFAULT, path="root.nowhere"),
    ]
    assert list(faults(rules, TREE)) == []
