"""An allocation file alone: what cannot be known without yarn-site.xml is not called kept."""

from pathlib import Path

from tests.unit.lab.convert.fair_to_capacity.converted import (
    converted,
    converted_directory,
    finding,
    read_fair_text,
    written,
)

from fairshare.lab.convert.fair_to_capacity.converting import assumptions
from fairshare.lab.convert.fair_to_capacity.source import read_source

TIMES = (
    "<queue name='a'><minResources>1024 mb, 1 vcores</minResources>"
    "<minSharePreemptionTimeout>60</minSharePreemptionTimeout></queue>"
    "<defaultFairSharePreemptionTimeout>30</defaultFairSharePreemptionTimeout>"
)
PREEMPTION = "yarn.scheduler.fair.preemption"


def test_without_yarn_site_the_effect_of_preemption_times_is_unknown() -> None:
    conversion = converted(TIMES)
    for name in ("", "root.a"):
        one = finding(conversion, "preemption-time", name)
        assert one.outcome == "unknown"
        assert one.why.startswith("not known without yarn-site.xml")


def test_with_yarn_site_xml_it_is_known(tmp_path: Path) -> None:
    off = converted_directory(tmp_path, TIMES, {"yarn.acl.enable": "false"})
    assert finding(off, "preemption-time").outcome == "kept"
    on = converted_directory(tmp_path, TIMES, {PREEMPTION: "true"})
    assert finding(on, "preemption-time").outcome == "lost"


def test_a_directory_without_yarn_site_xml_is_treated_like_the_file(tmp_path: Path) -> None:
    (tmp_path / "fair-scheduler.xml").write_text(f"<allocations>{TIMES}</allocations>")
    assert assumptions(read_source(tmp_path))[PREEMPTION] == "false"


def test_the_properties_that_are_assumed_are_named_with_their_values(tmp_path: Path) -> None:
    alone = read_fair_text(f"<allocations>{TIMES}</allocations>".encode())
    assumed = assumptions(alone)
    assert assumed[PREEMPTION] == "false"
    assert assumed["yarn.scheduler.maximum-allocation-mb"] == "8192"
    assert assumed["yarn.scheduler.fair.allow-undeclared-pools"] == "true"
    converted_directory(tmp_path, TIMES, {})
    assert assumptions(read_source(tmp_path)) == {}


def test_lists_of_a_file_alone_are_heeded_so_that_none_is_opened_unseen() -> None:
    lists = "<queue name='a'><aclAdministerApps>ann</aclAdministerApps></queue>"
    assert written(converted(lists), "yarn-site.xml")["yarn.acl.enable"] == "true"
    assert finding(converted(lists), "access").value == "not known"
    assert "yarn.acl.enable" not in written(converted("<queue name='a'/>"), "yarn-site.xml")
