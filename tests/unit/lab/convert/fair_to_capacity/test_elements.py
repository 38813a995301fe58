"""Limits, masters, containers, lists, policies: what stands in a queue for itself."""

from pathlib import Path

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import (
    CLUSTER,
    converted,
    converted_directory,
    finding,
    written,
)

from fairshare.lab.convert.fair_to_capacity.draft import Options

LIMITED = (
    "<queue name='a'><maxRunningApps>7</maxRunningApps><maxAMShare>0.25</maxAMShare>"
    "<maxContainerAllocation>4096 mb, 2 vcores</maxContainerAllocation>"
    "<aclSubmitApps>ann,bob staff</aclSubmitApps><aclAdministerApps> admins</aclAdministerApps>"
    "</queue>"
)


def test_each_element_has_its_property() -> None:
    properties = written(converted(LIMITED))
    assert properties["root.a.max-parallel-apps"] == "7"
    assert properties["root.a.maximum-am-resource-percent"] == "0.25"
    assert properties["root.a.maximum-allocation-mb"] == "4096"
    assert properties["root.a.maximum-allocation-vcores"] == "2"
    assert properties["root.a.acl_submit_applications"] == "ann,bob staff"
    assert properties["root.a.acl_administer_queue"] == " admins"


def test_a_user_may_have_the_whole_queue_as_before() -> None:
    assert written(converted(LIMITED))["root.a.user-limit-factor"] == "-1"


def test_as_many_applications_as_there_are_may_wait() -> None:
    conversion = converted("<queue name='a'><weight>0</weight></queue>", "percentage")
    assert written(conversion)["maximum-applications"] == str(2**31 - 1)
    assert written(conversion)["global-queue-max-application"] == str(2**31 - 1)


def test_limits_of_the_file_become_limits_of_all() -> None:
    properties = written(
        converted(
            "<queue name='a'/><queueMaxAppsDefault>9</queueMaxAppsDefault>"
            "<userMaxAppsDefault>3</userMaxAppsDefault>"
            "<user name='j.doe'><maxRunningApps>5</maxRunningApps></user>"
            "<queueMaxAMShareDefault>0.3</queueMaxAMShareDefault>"
        )
    )
    assert properties["max-parallel-apps"] == "9"
    assert properties["user.max-parallel-apps"] == "3"
    assert properties["user.j.doe.max-parallel-apps"] == "5"
    assert properties["maximum-am-resource-percent"] == "0.3"


@pytest.mark.parametrize(("share", "became"), [("-1", "1"), ("0", "0"), ("3.0", "1")])
def test_odd_shares_of_masters_have_what_is_nearest(share: str, became: str) -> None:
    conversion = converted(f"<queue name='a'><maxAMShare>{share}</maxAMShare></queue>")
    assert written(conversion)["root.a.maximum-am-resource-percent"] == became
    assert finding(conversion, "master-share", "root.a").outcome == "changed"


def test_a_largest_container_stays_below_the_schedulers_own() -> None:
    most = "<maxContainerAllocation>99999 mb, 2 vcores</maxContainerAllocation>"
    queues = f"<queue name='a'>{most}</queue>"
    assert written(converted(queues))["root.a.maximum-allocation-mb"] == "8192"


def test_lists_are_switched_on_where_they_exclude_anybody(tmp_path: Path) -> None:
    closed = (
        "<queue name='root'><aclSubmitApps> </aclSubmitApps>"
        f"<aclAdministerApps> </aclAdministerApps>{LIMITED}</queue>"
    )
    conversion = converted_directory(tmp_path, closed, {})
    assert written(conversion, "yarn-site.xml")["yarn.acl.enable"] == "true"
    conversion = converted_directory(tmp_path, LIMITED, {})
    assert "yarn.acl.enable" not in written(conversion, "yarn-site.xml")


def test_a_policy_orders_applications_and_one_calculator_counts() -> None:
    queues = (
        "<queue name='a'/><queue name='b'><schedulingPolicy>fifo</schedulingPolicy></queue>"
        "<queue name='c'><schedulingPolicy>{}</schedulingPolicy></queue>"
    )
    properties = written(converted(queues.format("fair")))
    assert [properties[f"root.{name}.ordering-policy"] for name in "abc"] == [
        "fair",
        "fifo",
        "fair",
    ]
    assert properties["resource-calculator"].endswith(".DefaultResourceCalculator")
    conversion = converted(
        "<defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy><queue name='a'/>"
    )
    assert written(conversion)["resource-calculator"].endswith(".DominantResourceCalculator")
    assert finding(conversion, "policy", "root.a").outcome == "changed"


def test_the_calculator_can_be_chosen() -> None:
    given = Options(cluster=CLUSTER, calculator="dominant")
    properties = written(converted("<queue name='a'/>", given=given))
    assert properties["resource-calculator"].endswith(".DominantResourceCalculator")


def test_a_plan_queue_becomes_an_ordinary_one() -> None:
    conversion = converted("<queue name='a'><reservation/></queue>")
    assert finding(conversion, "reservation", "root.a").outcome == "lost"
    assert written(conversion)["root.a.ordering-policy"] == "fair"
    assert "root.a.auto-queue-creation-v2.enabled" not in written(conversion)


def test_every_finding_names_the_line_of_its_element() -> None:
    conversion = converted(
        "\n<queue name='a'>\n<weight>2</weight>\n<maxRunningApps>7</maxRunningApps></queue>"
    )
    assert finding(conversion, "weight", "root.a").line == 3
    assert finding(conversion, "running-applications", "root.a").line == 4
