"""mapred-site.xml, the pools file and fairshare.toml, as MapReduce's Fair Scheduler reads them."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fairshare.core.schedulers.pools import load, weights
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolsSettings
from fairshare.errors import ConfigurationError
from fairshare.settings import plug_ins
from fairshare.settings.directory import read_directory, refresh
from fairshare.settings.pools import reading
from fairshare.settings.pools.file import read_pools_file
from fairshare.settings.pools.names import PoolSwitches
from fairshare.settings.pools.reading import read_pools
from fairshare.settings.registry import family_of
from fairshare.settings.site import Site

P = "mapred.fairscheduler."
LATER = PoolSwitches(generation="1.2")


def of(values: dict[str, object], switches: PoolSwitches = LATER) -> PoolsSettings:
    return read_pools(Site.of(values), None, switches=switches)[0]


def reported(values: dict[str, object], switches: PoolSwitches = LATER) -> list[str]:
    return [str(problem) for problem in read_pools(Site.of(values), None, switches=switches)[1]]


def test_every_property_is_read() -> None:
    found = of(
        {
            P + "poolnameproperty": "group.name",
            P + "allow.undeclared.pools": False,
            P + "assignmultiple": False,
            P + "assignmultiple.maps": 3,
            P + "assignmultiple.reduces": 2,
            P + "sizebasedweight": True,
            P + "weightadjuster": "org.apache.hadoop.mapred.NewJobWeightBooster",
            P + "loadmanager": "org.apache.hadoop.mapred.CapBasedLoadManager",
            P + "load.max.diff": "0.25",
            P + "update.interval": 250,
            P + "preemption": True,
            P + "preemption.only.log": True,
            P + "preemption.interval": 5000,
            P + "locality.delay": 1000,
            P + "locality.delay.node": 2000,
            P + "locality.delay.rack": 3000,
            "mapred.newjobweightbooster.factor": "4.5",
            "mapred.newjobweightbooster.duration": 600000,
            "mapred.heartbeats.in.second": 50,
            "mapreduce.jobtracker.heartbeats.scaling.factor": "0.5",
        }
    )
    assert found == PoolsSettings(
        generation="1.2",
        minimum_allocation=(1024, 1, 0, 0),
        maximum_allocation=found.maximum_allocation,
        pool_property="group.name",
        allow_undeclared_pools=False,
        assign_multiple=False,
        maps_per_heartbeat=3,
        reduces_per_heartbeat=2,
        size_based_weight=True,
        weight_adjuster=weights.BOOSTER,
        load_max_difference=0.25,
        update_interval_ms=250,
        preemption=True,
        preemption_only_log=True,
        preemption_interval_ms=5000,
        locality_delay_ms=1000,
        locality_delay_node_ms=2000,
        locality_delay_rack_ms=3000,
        booster_factor=4.5,
        booster_duration_ms=600_000,
        heartbeats_per_second=50,
        heartbeat_scaling=0.5,
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({P + "colour": "red"}, "mapred.fairscheduler.colour is unknown and has no effect"),
        ({P + "eventlog.enabled": True}, "eventlog.enabled has no effect"),
        ({P + "eventlog.location": "/logs"}, "eventlog.location has no effect"),
        ({P + "dump.interval": 5000}, "dump.interval has no effect"),
        ({P + "taskselector": "com.example.Mine"}, "taskselector has no effect"),
        ({"mapred.acls.enabled": True}, "mapred.acls.enabled has no effect: with yarn.acl.enable"),
        ({"mapreduce.cluster.acls.enabled": True}, "any user's jobs may go to any pool"),
        ({"mapred.queue.prod.acl-submit-job": "ann"}, "mapred.queue.prod.acl-submit-job has no"),
        ({"mapred.queue.a.acl-administer-jobs": " "}, "a.acl-administer-jobs has no effect"),
        ({"net.topology.nodegroup.aware": True}, "no groups of hosts within a rack"),
        ({"webinterface.private.actions": True}, "private.actions has no effect"),
        ({"mapred.jobinit.threads": 4}, "mapred.jobinit.threads has no effect"),
    ],
)
def test_a_value_without_effect_is_reported(values: dict[str, object], words: str) -> None:
    (problem,) = reported(values)
    assert words in problem


@pytest.mark.parametrize(
    "name",
    ["mapred.acls.enabled", "net.topology.nodegroup.aware", "webinterface.private.actions"],
)
def test_a_switch_of_the_master_that_is_off_is_not_reported(name: str) -> None:
    assert reported({name: False}) == []


def test_properties_of_1_2_are_reported_in_older_generations_and_change_nothing() -> None:
    old = PoolSwitches(generation="0.20")
    values: dict[str, object] = {P + "preemption": True, P + "allow.undeclared.pools": False}
    assert len(reported(values, old)) == 2
    assert of(values, old).allow_undeclared_pools


@pytest.mark.parametrize(
    "switches",
    [
        PoolSwitches(generation="1.2", fifo=True),
        PoolSwitches(generation="0.19", scale_min_shares=True),
        PoolSwitches(generation="1.2", wait_for_maps=False),
    ],
)
def test_a_switch_of_another_generation_is_reported(switches: PoolSwitches) -> None:
    (problem,) = reported({}, switches)
    assert "has no effect in the generation" in problem


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({P + "weightadjuster": "com.example.Mine"}, "there is no 'com.example.Mine'"),
        ({P + "loadmanager": "com.example.Mine"}, "there is no 'com.example.Mine'"),
        ({P + "update.interval": 0}, "must be at least 1"),
        ({P + "preemption.interval": "soon"}, "'soon' is not a whole number"),
    ],
)
def test_what_cannot_be_used_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        of(values)


def test_a_site_gives_defaults_to_jobs_as_they_are_written() -> None:
    found = of(
        {
            P + "poolnameproperty": "pool.name",
            "pool.name": "${team}-${user.name}",
            "team": "x",
            "unused": "y",
        }
    )
    assert found.defaults == {"pool.name": "${team}-${user.name}", "team": "x"}


# The file.


@pytest.mark.parametrize(
    ("inside", "line", "words"),
    [
        ("<pool name='a'><weight>-1</weight></pool>", 2, "a weight is 0 or more"),
        ("<pool name='a'>\n<minMaps>x</minMaps></pool>", 3, "'x' is not a whole number"),
        ("<pool name='a'><schedulingMode>drf</schedulingMode></pool>", 2, "write fair or fifo"),
    ],
)
def test_a_bad_file_is_refused_with_the_line(inside: str, line: int, words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_pools_file(f"<allocations>\n{inside}\n</allocations>", "f.xml", "1.2")
    assert f"f.xml:{line}:" in str(refused.value)
    assert words in str(refused.value)


def test_all_mistakes_of_a_file_are_reported_together() -> None:
    text = "<allocations><pool name='a'><minMaps>x</minMaps><weight>y</weight></pool></allocations>"
    with pytest.raises(ConfigurationError) as refused:
        read_pools_file(text, "f.xml", "1.2")
    assert len(refused.value.problems) == 2


@pytest.mark.parametrize(
    ("inside", "rule"),
    [
        ("<pool name='a'><minMaps>3</minMaps><maxMaps>2</maxMaps></pool>", "maximum-below-minimum"),
        ("<queue name='a'/>", "unknown-element"),
        ("<pool name='a'><maxShare>2</maxShare></pool>", "unknown-element"),
        ("<pool><minMaps>3</minMaps></pool>", "pool"),
    ],
)
def test_a_likely_mistake_is_reported(inside: str, rule: str) -> None:
    _, problems = read_pools_file(f"<allocations>{inside}</allocations>", "f.xml", "1.2")
    assert [problem.rule for problem in problems] == [rule]


# The directory.


def directory(tmp_path: Path, toml: str = '[pools]\ngeneration = "1.2"\n') -> Path:
    (tmp_path / "mapred-site.xml").write_text(
        "<configuration><property><name>mapred.jobtracker.taskScheduler</name>"
        "<value>org.apache.hadoop.mapred.FairScheduler</value></property>"
        "<property><name>mapred.tasktracker.map.tasks.maximum</name><value>7</value></property>"
        "</configuration>"
    )
    (tmp_path / "fairshare.toml").write_text(toml)
    (tmp_path / "fair-scheduler.xml").write_text(
        "<allocations><pool name='a'><minMaps>3</minMaps></pool></allocations>"
    )
    return tmp_path


def test_a_directory_of_mapreduce_is_read_with_its_pools_and_slots(tmp_path: Path) -> None:
    found = read_directory(directory(tmp_path))
    assert found.problems == ()
    assert isinstance(found.settings, PoolsSettings)
    assert found.settings.generation == "1.2"
    assert found.settings.allocations.pools == {"a": PoolAllocation("a", min_share=(3, 0))}
    assert found.types.names == ("memory-mb", "vcores", "map-slots", "reduce-slots")
    assert found.shell.engine.resources == {"map-slots": 7, "reduce-slots": 2}


def test_the_properties_alone_select_the_pool_scheduler_with_a_trap(tmp_path: Path) -> None:
    (tmp_path / "mapred-site.xml").write_text(
        "<configuration><property><name>mapred.fairscheduler.sizebasedweight</name>"
        "<value>true</value></property></configuration>"
    )
    found = read_directory(tmp_path)
    assert found.scheduler == "pools"
    assert [p.rule for p in found.problems if p.severity == "trap"] == ["scheduler"]


def test_the_file_may_be_anywhere(tmp_path: Path) -> None:
    here = directory(tmp_path)
    (here / "fair-scheduler.xml").rename(here / "pools.xml")
    site = (here / "mapred-site.xml").read_text()
    added = (
        f"<property><name>mapred.fairscheduler.allocation.file</name>"
        f"<value>{here / 'pools.xml'}</value></property></configuration>"
    )
    (here / "mapred-site.xml").write_text(site.replace("</configuration>", added))
    found = read_directory(here)
    assert found.allocation_path == here / "pools.xml"
    assert isinstance(found.settings, PoolsSettings)
    assert "a" in found.settings.allocations.pools


def test_a_change_of_its_section_of_fairshare_toml_needs_a_restart(tmp_path: Path) -> None:
    started = read_directory(directory(tmp_path))
    directory(tmp_path, '[pools]\ngeneration = "1.2"\nstrict = true\n')
    found = refresh(started, started.settings)
    assert found.needs_restart == ("fairshare.toml: strict below [pools]",)


def test_a_changed_file_is_taken_over_and_a_broken_one_is_not(tmp_path: Path) -> None:
    started = read_directory(directory(tmp_path))
    assert started.settings is not None
    path = tmp_path / "fair-scheduler.xml"
    path.write_text("<allocations><pool name='b'><weight>2</weight></pool></allocations>")
    found, _ = family_of("pools").reread_file(path, started.settings)
    assert found.allocations.pools == {"b": PoolAllocation("b", weight=2.0)}
    assert refresh(started, started.settings).settings == found
    path.write_text("<allocations><pool")
    with pytest.raises(ConfigurationError):
        family_of("pools").reread_file(path, started.settings)


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('generation = "2.0"', "pools.generation must be '0.19' or '0.20' or '1.2'"),
        ("strict = 2", "pools.strict: "),
        ("colour = 1", "unknown key 'colour' in pools"),
        ("priority_factors = {SOON = 1}", "unknown key 'SOON' in pools.priority_factors"),
        ("priority_factors = {LOW = -1}", "LOW is -1.0: it must be at least 0"),
    ],
)
def test_a_switch_that_cannot_be_is_refused(tmp_path: Path, toml: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_directory(directory(tmp_path, f"[pools]\n{toml}\n"))


def test_priorities_may_weigh_otherwise(tmp_path: Path) -> None:
    toml = "[pools]\nhierarchical = true\npriority_factors = {VERY_LOW = 0}\n"
    found = read_directory(directory(tmp_path, toml)).settings
    assert found is not None
    assert found.priority_factors == (0.0, 0.5, 1.0, 2.0, 4.0)
    assert found.hierarchical
    assert found.generation == "0.19"


# Plug-ins of packages.


class Doubler:
    """A weight adjuster, as a package brings it."""

    name = "doubler"

    def adjust(self, job: weights.JobFacts, weight: float, now_ms: int) -> float:
        return weight * 2 if job.user == "ann" else weight


class OneEach:
    """A load manager, as a package brings it."""

    name = "one-each"

    def may_take(self, load: load.NodeLoad) -> bool:
        return load.node_running < 1

    def may_launch(self, load: load.NodeLoad, application: int, properties: dict[str, str]) -> bool:
        return properties.get("quiet") != "yes"


def entry(name: str, what: str, group: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{what}", group)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch):
    entries: list[EntryPoint] = []
    found = {"Doubler": Doubler, "OneEach": OneEach, "str": str}

    class Found(EntryPoint):
        def load(self) -> object:
            return found[self.value.partition(":")[2]]

    monkeypatch.setattr(
        plug_ins,
        "entry_points",
        lambda group: [Found(e.name, e.value, e.group) for e in entries if e.group == group],
    )
    monkeypatch.setattr(weights, "ADJUSTERS", {})
    monkeypatch.setattr(load, "LOAD_MANAGERS", {})
    reading._names.cache_clear()
    yield entries
    reading._names.cache_clear()


def test_a_package_may_bring_an_adjuster_and_a_load_manager(packages: list[EntryPoint]) -> None:
    packages += [
        entry("doubler", "Doubler", reading.ADJUSTER_GROUP),
        entry("one-each", "OneEach", reading.MANAGER_GROUP),
    ]
    found = of({P + "weightadjuster": "doubler", P + "loadmanager": f"{__name__}.OneEach"})
    assert (found.weight_adjuster, found.load_manager) == ("doubler", "one-each")
    assert isinstance(weights.ADJUSTERS["doubler"], Doubler)
    assert isinstance(load.LOAD_MANAGERS["one-each"], OneEach)


def test_a_package_that_cannot_be_used_is_named(packages: list[EntryPoint]) -> None:
    packages.append(entry("wrong", "Doubler", reading.ADJUSTER_GROUP))
    with pytest.raises(ConfigurationError, match="calls itself 'doubler'"):
        of({P + "weightadjuster": "wrong"})


def test_what_packages_bring_decides(packages: list[EntryPoint]) -> None:
    from tests.unit.core.schedulers.pools.conftest import Cluster, maps, settings

    packages += [
        entry("doubler", "Doubler", reading.ADJUSTER_GROUP),
        entry("one-each", "OneEach", reading.MANAGER_GROUP),
    ]
    of({P + "weightadjuster": "doubler", P + "loadmanager": "one-each"})
    given = settings("1.2", weight_adjuster="doubler", load_manager="one-each")
    cluster = Cluster(given, (6, 0))
    ann, bob = cluster.submit("p", maps(9)), cluster.submit("p", maps(9), user="bob")
    assert [cluster.maps_of(n).fair_share for n in (ann, bob)] == pytest.approx([4, 2], abs=0.01)
    cluster.submit("a", maps(9), properties={"quiet": "yes"})
    assert cluster.beat() == [ann]
    assert cluster.beat() == []
