"""The allocation file becomes settings; everything wrong in it is told at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.core.model.resources import UNBOUNDED, ResourceTypes
from fairshare.core.schedulers.calculators import memory_calculator
from fairshare.core.schedulers.fair.policies import POLICIES, FairPolicy, Policy
from fairshare.core.schedulers.fair.settings import (
    NEVER_MS,
    AllocationSettings,
    Amount,
    QueueSettings,
    RuleSettings,
)
from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError
from fairshare.settings.fair.allocation_file import read_allocation_file

TWO = ResourceTypes()
GPU = ResourceTypes(("memory-mb", "vcores", "gpu"), ("Mi", "", ""))


def read(body: str, types: ResourceTypes = TWO) -> tuple[AllocationSettings, tuple[Problem, ...]]:
    return read_allocation_file(f"<allocations>{body}</allocations>", "f.xml", types)


def settings_of(body: str, types: ResourceTypes = TWO) -> AllocationSettings:
    settings, problems = read(body, types)
    assert problems == ()
    return settings


def errors_of(body: str, types: ResourceTypes = TWO) -> list[str]:
    with pytest.raises(ConfigurationError) as refused:
        read(body, types)
    return [str(p) for p in refused.value.problems if p.severity == "error"]  # type: ignore[attr-defined]


def queue_of(body: str) -> QueueSettings:
    return settings_of(f'<queue name="q">{body}</queue>').queues["root.q"]


def test_an_empty_file_has_the_defaults() -> None:
    settings = settings_of("")
    assert settings == AllocationSettings(from_file=True)
    assert settings.queue_max_master_share_default == 0.5
    assert settings.fair_share_timeout_ms == NEVER_MS


def test_top_level_elements_set_the_defaults_of_the_file() -> None:
    settings = settings_of(
        """
        <userMaxAppsDefault> 5 </userMaxAppsDefault>
        <queueMaxAppsDefault>7</queueMaxAppsDefault>
        <queueMaxResourcesDefault>40000 mb,0vcores</queueMaxResourcesDefault>
        <queueMaxAMShareDefault>1.5</queueMaxAMShareDefault>
        <defaultFairSharePreemptionTimeout>10</defaultFairSharePreemptionTimeout>
        <defaultMinSharePreemptionTimeout>20</defaultMinSharePreemptionTimeout>
        <defaultFairSharePreemptionThreshold>0.2</defaultFairSharePreemptionThreshold>
        <defaultQueueSchedulingMode>DRF</defaultQueueSchedulingMode>
        """
    )
    assert settings == AllocationSettings(
        user_max_applications_default=5,
        queue_max_applications_default=7,
        queue_max_share_default=Amount(absolute=(40000, 0)),
        queue_max_master_share_default=1.0,
        fair_share_timeout_ms=10_000,
        min_share_timeout_ms=20_000,
        fair_share_threshold=0.20000000298023224,
        default_policy="drf",
        from_file=True,
    )


def test_the_older_spelling_of_the_timeout_counts_only_without_the_newer_one() -> None:
    old = "<fairSharePreemptionTimeout>3</fairSharePreemptionTimeout>"
    new = "<defaultFairSharePreemptionTimeout>4</defaultFairSharePreemptionTimeout>"
    assert settings_of(old).fair_share_timeout_ms == 3_000
    assert settings_of(old + new).fair_share_timeout_ms == 4_000
    assert settings_of(new + old).fair_share_timeout_ms == 4_000


def test_a_queue_takes_all_its_elements() -> None:
    queue = queue_of(
        """
        <minResources>1024 mb, 1 vcores</minResources>
        <maxResources>50%</maxResources>
        <maxChildResources>25%</maxChildResources>
        <maxContainerAllocation>vcores=2</maxContainerAllocation>
        <maxRunningApps>3</maxRunningApps>
        <maxAMShare>0.2</maxAMShare>
        <weight>2.5f</weight>
        <schedulingPolicy>FIFO</schedulingPolicy>
        <minSharePreemptionTimeout>1</minSharePreemptionTimeout>
        <fairSharePreemptionTimeout>2</fairSharePreemptionTimeout>
        <fairSharePreemptionThreshold>7</fairSharePreemptionThreshold>
        <allowPreemptionFrom>FALSE</allowPreemptionFrom>
        """
    )
    assert queue == QueueSettings(
        name="root.q",
        min_share=(1024, 1),
        max_share=Amount(fractions=(0.5, 0.5)),
        max_child_share=Amount(fractions=(0.25, 0.25)),
        max_container=(UNBOUNDED, 2),
        max_running_applications=3,
        max_master_share=0.20000000298023224,
        weight=2.5,
        policy="fifo",
        min_share_timeout_ms=1_000,
        fair_share_timeout_ms=2_000,
        fair_share_threshold=1.0,
        preemptable=False,
    )


def test_what_a_queue_does_not_say_is_none() -> None:
    assert queue_of("") == QueueSettings(name="root.q")


def test_pools_are_queues_at_every_level_and_the_order_of_the_file_is_kept() -> None:
    settings = settings_of(
        '<pool name="b"><queue name="y"/><pool name="x"/></pool><queue name="a"/>'
    )
    assert list(settings.queues) == ["root.b", "root.b.y", "root.b.x", "root.a"]
    assert [q.name for q in settings.queues.values() if q.parent] == ["root.b"]


def test_the_element_root_may_wrap_all_others() -> None:
    settings = settings_of('<queue name="root"><weight>3</weight><queue name="a"/></queue>')
    assert list(settings.queues) == ["root", "root.a"]
    assert settings.queues["root"].weight == 3.0


def test_names_lose_the_blanks_around_them_but_not_those_inside() -> None:
    settings = settings_of('<queue name="&#160; a b&#8195;"/>')
    assert list(settings.queues) == ["root.a b"]


def test_the_type_parent_makes_a_queue_without_children_a_parent() -> None:
    assert settings_of('<queue name="q" type="parent"/>').queues["root.q"].parent


def test_a_reservation_makes_a_queue_a_parent_and_is_reported_as_unsupported() -> None:
    settings, problems = read('<queue name="q"><reservation/></queue>')
    assert settings.queues["root.q"] == QueueSettings("root.q", parent=True, reservable=True)
    assert [(p.rule, p.severity) for p in problems] == [("unsupported", "warning")]


def test_access_lists_keep_their_blanks() -> None:
    settings = settings_of(
        '<queue name="root"><aclSubmitApps> </aclSubmitApps>'
        "<aclAdministerApps> ops</aclAdministerApps>"
        '<queue name="a"><aclSubmitApps>ann,bob dev </aclSubmitApps></queue></queue>'
    )
    root, leaf = settings.queues.values()
    assert (root.submit_acl, root.administer_acl) == (" ", " ops")
    assert leaf.submit_acl == "ann,bob dev "


def test_users_have_limits() -> None:
    settings, problems = read(
        '<user name="ann"><maxRunningApps>2</maxRunningApps><weight>3</weight></user>'
        "<user><maxRunningApps>1</maxRunningApps></user>"
        '<user name="ann"><maxRunningApps>4</maxRunningApps></user>'
    )
    assert settings.user_max_applications == {"ann": 4}
    assert [p.rule for p in problems] == ["unknown-element", "user", "repeated-element"]


def test_javas_names_of_the_policies_are_synonyms() -> None:
    package = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.policies."
    for name, policy in (
        ("FifoPolicy", "fifo"),
        ("FairSharePolicy", "fair"),
        ("DominantResourceFairnessPolicy", "drf"),
    ):
        body = (
            f"<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
            f'<queue name="q"><schedulingPolicy>{package}{name}</schedulingPolicy></queue>'
        )
        assert settings_of(body).queues["root.q"].policy == policy


class Lottery(FairPolicy):
    """A policy of another package."""

    def __init__(self) -> None:
        Policy.__init__(self, "my.lottery", "lottery", memory_calculator, leaf_only=True)


def test_a_registered_policy_can_be_named_and_one_for_leaves_cannot_be_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = '<queue name="q"><schedulingPolicy>My.Lottery</schedulingPolicy></queue>'
    with pytest.raises(ConfigurationError, match=r"no policy 'My.Lottery' \(there are drf, fair"):
        settings_of(body)
    monkeypatch.setitem(POLICIES, "my.lottery", Lottery())
    assert settings_of(body).queues["root.q"].policy == "my.lottery"
    default = "<defaultQueueSchedulingPolicy>My.Lottery</defaultQueueSchedulingPolicy>"
    with pytest.raises(ConfigurationError, match=r"my.lottery cannot be the default policy"):
        settings_of(default)


def test_a_timeout_that_64_bits_cannot_hold_never_ends() -> None:
    text = f"<minSharePreemptionTimeout>{2**63 - 1}</minSharePreemptionTimeout>"
    assert queue_of(text).min_share_timeout_ms == NEVER_MS


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<queue name="q"><weight>two</weight></queue>', "weight"),
        ('<queue name="q"><weight>-1</weight></queue>', "weight"),
        ('<queue name="q"><weight/></queue>', "weight"),
        ('<queue name="q"><weight><b/>1</weight></queue>', "weight"),
        ('<queue name="q"><maxResources>lots</maxResources></queue>', "maxResources"),
        ('<queue name="q"><minResources> </minResources></queue>', "minResources"),
        ('<queue name="q"><maxRunningApps>3.5</maxRunningApps></queue>', "maxRunningApps"),
        ('<queue name="q"><schedulingPolicy>dice</schedulingPolicy></queue>', "schedulingPolicy"),
        ('<queue name="q"><aclSubmitApps></aclSubmitApps></queue>', "aclSubmitApps"),
        ('<queue name="q"><allowPreemptionFrom/></queue>', "allowPreemptionFrom"),
        ('<queue name="a.b"/>', "queue-name"),
        ('<queue name=" &#160;"/>', "queue-name"),
        ("<queue/>", "queue-name"),
        ('<queue name="root"/><queue name="b"/>', "queue-beside-root"),
        ('<queue name="b"/><queue name="Root"/>', "queue-beside-root"),
        ('<queue name="q" type="parent"><reservation/></queue>', "reservation"),
        ('<queue name="q"><reservation/><queue name="r"/></queue>', "reservation"),
        ('<queue name="q"/><pool name="q"/>', "repeated-queue"),
        ('<user name="u"><maxRunningApps>many</maxRunningApps></user>', "maxRunningApps"),
        ("<queueMaxAppsDefault>many</queueMaxAppsDefault>", "queueMaxAppsDefault"),
        ("<queueMaxResourcesDefault>5</queueMaxResourcesDefault>", "queueMaxResourcesDefault"),
        (
            "<defaultQueueSchedulingPolicy>Fifo</defaultQueueSchedulingPolicy>",
            "defaultQueueSchedulingPolicy",
        ),
        ("<queuePlacementPolicy/>", "placement-rule"),
    ],
)
def test_a_bad_file_is_refused_and_says_why(body: str, rule: str) -> None:
    errors = errors_of(body)
    assert len(errors) == 1, errors
    assert errors[0].startswith("f.xml:1:")
    assert errors[0].endswith(f"[{rule}]")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<configuration/>", "f.xml:1:1: error: the top element is <configuration>"),
        ("<allocations><queue></allocations>", "f.xml:1:23: error: bad XML: mismatched tag"),
        (b"plain text", "f.xml:1:1: error: bad XML: syntax error"),
    ],
)
def test_a_file_of_another_kind_is_refused(document: str | bytes, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_allocation_file(document, "f.xml", ResourceTypes())
    assert str(refused.value).startswith(reason)


def test_all_errors_of_a_file_are_reported_with_the_place_of_the_text() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(
            '\n<queue name="a.b">\n  <weight> two</weight>\n  <odd/></queue>\n'
            "<queueMaxAppsDefault>x</queueMaxAppsDefault>\n"
        )
    assert [str(problem).split(" ")[0:2] for problem in refused.value.problems] == [
        ["f.xml:2:1:", "error:"],
        ["f.xml:3:12:", "error:"],
        ["f.xml:4:3:", "warning:"],
        ["f.xml:5:22:", "error:"],
    ]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("<odd/>", "unknown-element"),
        ("<reservation-agent>x</reservation-agent>", "unsupported"),
        ('<queue name="q"><odd/></queue>', "unknown-element"),
        ('<queue name="q" kind="parent"/>', "unknown-attribute"),
        ('<queue name="q" type="leaf"/>', "queue-type"),
        ('<queue name="q"><weight>1</weight><weight>2</weight></queue>', "repeated-element"),
        ('<queue name="q"><aclListReservations>x</aclListReservations></queue>', "unsupported"),
    ],
)
def test_what_has_no_effect_is_a_warning(body: str, rule: str) -> None:
    _, problems = read(body)
    assert [(p.rule, p.severity) for p in problems] == [(rule, "warning")]


def test_of_repeated_elements_the_last_counts() -> None:
    settings, _ = read(
        "<userMaxAppsDefault>1</userMaxAppsDefault><userMaxAppsDefault>2</userMaxAppsDefault>"
        '<queue name="q"><minResources>1 mb,1 vcores</minResources>'
        "<minResources>5%</minResources></queue>"
    )
    assert settings.user_max_applications_default == 2
    assert settings.queues["root.q"].min_share is None


def test_the_warning_for_a_misspelt_element_suggests_the_right_one() -> None:
    _, problems = read('<queue name="q"><maxresources>5%</maxresources></queue>')
    assert "is <maxResources> meant?" in problems[0].message
    _, problems = read('<user name="u"><maxRunningJobs>5</maxRunningJobs></user>')
    assert "is <maxRunningApps> meant?" in problems[0].message


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<queue name="q"><minResources>5%</minResources></queue>', "minResources"),
        ('<queue name="q"><maxRunningApps>0</maxRunningApps></queue>', "maxRunningApps"),
        ('<queue name="q"><allowPreemptionFrom>no</allowPreemptionFrom></queue>',
         "allowPreemptionFrom"),
        ('<queue name="q" type="parent"><maxAMShare>0.1</maxAMShare></queue>', "maxAMShare"),
        ('<queue name="q"><minResources>2 mb,1 vcores</minResources>'
         "<maxResources>1 mb,1 vcores</maxResources></queue>", "minimum-above-maximum"),
        ('<queue name="q"><fairSharePreemptionTimeout>-1</fairSharePreemptionTimeout></queue>',
         "fairSharePreemptionTimeout"),
        (
            '<queue name="q"><aclAdministerApps>ann</aclAdministerApps></queue>',
            "aclAdministerApps",
        ),
        ('<queue name="root"><aclSubmitApps>ann, bob</aclSubmitApps></queue>', "aclSubmitApps"),
        ('<queue name="q"><schedulingPolicy>drf</schedulingPolicy></queue>', "policy-pair"),
        ('<queue name="q" type="parent"><schedulingPolicy>fifo</schedulingPolicy></queue>',
         "policy-pair"),
        ('<queue name="q"><ue name="x"/></queue>', "queue-suffix"),
        ('<queue name="ROOT"/>', "root-name"),
        ("<queuePlacementPolicy> </queuePlacementPolicy>", "placement-rule"),
    ],
)  # fmt: skip
def test_what_is_legal_but_hardly_meant_is_a_trap(body: str, rule: str) -> None:
    _, problems = read(body)
    assert [(p.rule, p.severity) for p in problems] == [(rule, "trap")]
    assert problems[0].hadoop


def test_percentages_where_amounts_are_needed_are_dropped() -> None:
    settings, _ = read(
        '<queue name="q"><minResources>5%</minResources>'
        "<maxContainerAllocation>5%</maxContainerAllocation></queue>"
    )
    assert settings.queues["root.q"] == QueueSettings("root.q")


def test_a_share_of_masters_on_a_parent_is_kept_though_hadoop_refuses_the_file() -> None:
    settings, problems = read('<queue name="q" type="parent"><maxAMShare>0.5</maxAMShare></queue>')
    assert settings.queues["root.q"].max_master_share == 0.5
    assert "refuses the whole file" in problems[0].hadoop


def test_a_negative_timeout_is_always_over() -> None:
    settings, _ = read(
        '<queue name="q"><minSharePreemptionTimeout>-1</minSharePreemptionTimeout></queue>'
    )
    assert settings.queues["root.q"].min_share_timeout_ms == -1000


def test_an_old_style_amount_forbids_further_types_with_a_trap() -> None:
    body = '<queue name="q"><maxResources>1024 mb, 1 vcores</maxResources></queue>'
    settings, problems = read(body, GPU)
    assert settings.queues["root.q"].max_share == Amount(absolute=(1024, 1, 0))
    assert [(p.rule, p.severity) for p in problems] == [("maxResources", "trap")]
    assert "gpu" in problems[0].message


def test_any_ending_of_the_word_queue_is_a_nested_queue_as_in_hadoop() -> None:
    settings, _ = read('<queue name="a"><e name="b"/><ueue name="c"/></queue>')
    assert list(settings.queues) == ["root.a", "root.a.b", "root.a.c"]
    assert settings.queues["root.a"].parent


def test_another_spelling_of_root_loses_all_settings_as_in_hadoop() -> None:
    settings, _ = read('<queue name="ROOT"><queue name="a"><weight>3</weight></queue></queue>')
    assert list(settings.queues.values()) == [
        QueueSettings("root.ROOT", parent=True),
        QueueSettings("root.ROOT.a"),
    ]


def test_a_closed_root_has_no_trap_for_lists_below_it() -> None:
    settings_of(
        '<queue name="root"><aclSubmitApps> </aclSubmitApps>'
        '<queue name="q"><aclSubmitApps>ann</aclSubmitApps></queue></queue>'
    )


def test_drf_below_drf_has_no_trap() -> None:
    settings_of(
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>"
        '<queue name="q"/><queue name="f"><schedulingPolicy>fifo</schedulingPolicy></queue>'
    )


def test_the_example_of_the_documentation_loads() -> None:
    settings, problems = read(
        """
        <queue name="sample_queue">
          <minResources>10000 mb,0vcores</minResources>
          <maxResources>90000 mb,0vcores</maxResources>
          <maxRunningApps>50</maxRunningApps>
          <maxAMShare>0.1</maxAMShare>
          <weight>2.0</weight>
          <schedulingPolicy>fair</schedulingPolicy>
          <queue name="sample_sub_queue">
            <aclSubmitApps>charlie</aclSubmitApps>
            <minResources>5000 mb,0vcores</minResources>
          </queue>
        </queue>
        <queue name="secondary_group_queue" type="parent"><weight>3.0</weight></queue>
        <queuePlacementPolicy>
          <rule name="specified"/>
          <rule name="primaryGroup" create="false"/>
          <rule name="nestedUserQueue">
            <rule name="secondaryGroupExistingQueue" create="false"/>
          </rule>
          <rule name="default" queue="sample_queue"/>
        </queuePlacementPolicy>
        """
    )
    assert settings.queues == {
        "root.sample_queue": QueueSettings(
            "root.sample_queue",
            parent=True,
            min_share=(10000, 0),
            max_share=Amount(absolute=(90000, 0)),
            max_running_applications=50,
            max_master_share=0.10000000149011612,
            weight=2.0,
            policy="fair",
        ),
        "root.sample_queue.sample_sub_queue": QueueSettings(
            "root.sample_queue.sample_sub_queue", min_share=(5000, 0), submit_acl="charlie"
        ),
        "root.secondary_group_queue": QueueSettings(
            "root.secondary_group_queue", parent=True, weight=3.0
        ),
    }
    assert settings.rules == (
        RuleSettings("specified"),
        RuleSettings("primaryGroup", create=False),
        RuleSettings(
            "nestedUserQueue", parent=RuleSettings("secondaryGroupExistingQueue", create=False)
        ),
        RuleSettings("default", queue="sample_queue"),
    )
    assert {p.severity for p in problems} == {"trap"}


TAGS = (
    "queue", "pool", "ue", "user", "rule", "queuePlacementPolicy", "weight", "minResources",
    "maxResources", "maxRunningApps", "aclSubmitApps", "schedulingPolicy", "reservation", "odd",
    "queueMaxAppsDefault", "queueMaxResourcesDefault", "defaultQueueSchedulingPolicy",
    "fairSharePreemptionTimeout", "allowPreemptionFrom", "maxAMShare",
)  # fmt: skip
WORDS = (
    "", " ", "1", "-1", "two", "5%", "1 mb, 1 vcores", "vcores=1", "fifo", "drf", "*", "ann, b",
    "true", "1e40", "99999999999999999999", "&#8195;",
)  # fmt: skip
NAMES = ("", " ", "a", "a.b", "root", "ROOT", "user", "default", "reject", "nestedUserQueue")

ELEMENTS = st.recursive(
    st.sampled_from(WORDS),
    lambda inside: st.builds(
        lambda tag, name, kind, parts: (
            f'<{tag} name="{name}" type="{kind}">{"".join(parts)}</{tag}>'
        ),
        st.sampled_from(TAGS),
        st.sampled_from(NAMES),
        st.sampled_from(("", "parent")),
        st.lists(inside, max_size=3),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.lists(ELEMENTS, max_size=4))
def test_any_file_is_read_or_refused_with_places(elements: list[str]) -> None:
    problems: tuple[object, ...] = ()
    try:
        settings, problems = read("\n".join(elements))
    except ConfigurationError as error:
        problems = error.problems
    else:
        assert all(name.startswith("root") for name in settings.queues)
        assert all(queue.name == name for name, queue in settings.queues.items())
    for problem in problems:
        assert isinstance(problem, Problem)
        assert problem.line >= 1
        assert problem.column >= 1
