"""Names of YARN's properties: those that Hadoop 3.4.1 has, what is meant by others, and what has no
effect here."""

import pytest

from fairshare.documents.problems import Problems
from fairshare.settings.known_names import is_known, nearest, report_not_honoured, report_unknown
from fairshare.settings.site import Site

RM = "yarn.resourcemanager."


@pytest.mark.parametrize(
    "name",
    [
        "yarn.acl.enable",
        RM + "webapp.address",
        RM + "webapp.address.rm1",
        RM + "hostname.a",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class",
        "yarn.log-aggregation.file-controller.TFile.class",
        RM + "proxyuser.hive.hosts",
        "yarn.app.mapreduce.am.staging-dir",
        "yarn.scheduler.maximum-allocation-mb",
    ],
)
def test_hadoop_knows_a_name(name: str) -> None:
    assert is_known(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("yarn.acl.enabled", "yarn.acl.enable"),
        (RM + "scheduler.monitor.enabled", RM + "scheduler.monitor.enable"),
        (RM + "max-application-attempts", RM + "am.max-attempts"),
        ("yarn.scheduler.max-allocation-vcores", "yarn.scheduler.maximum-allocation-vcores"),
        ("yarn.scheduler.minimum-allocation-MB", "yarn.scheduler.minimum-allocation-mb"),
        (
            "yarn.node-labels.am.default-node-label-expression",
            RM + "node-labels.am.default-node-label-expression",
        ),
        ("yarn.nodemanager.resource.memory", "yarn.nodemanager.resource.memory-mb"),
        ("yarn.vendor.colour.of.pages", None),
    ],
)
def test_an_unknown_name_is_reported_with_the_nearest(name: str, meant: str | None) -> None:
    assert not is_known(name)
    assert nearest(name) == meant
    problems = Problems()
    report_unknown(Site.of({name: 1}), problems)
    hint = f": is {meant} meant?" if meant else ""
    assert [problem.message for problem in problems.all] == [
        f"{name} is unknown and has no effect{hint}"
    ]


def test_what_hadoop_honours_is_listed_once_for_each_alternative() -> None:
    problems = Problems()
    names = (
        "yarn.nodemanager.vmem-pmem-ratio",
        "yarn.nodemanager.local-dirs",
        RM + "store.class",
        RM + "address",
        "yarn.acl.enable",
    )
    site = Site.of(dict.fromkeys(names, "x"))
    site.text("yarn.acl.enable", problems)
    report_unknown(site, problems)
    report_not_honoured(site, problems)
    nodes, store = (problem.message for problem in problems.all)
    assert nodes.startswith(f"{names[0]}, {names[1]} have no effect here: Hadoop's NodeManagers")
    assert store.startswith(f"{names[2]} has no effect here: the state is always kept")
