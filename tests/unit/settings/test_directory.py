"""A configuration directory is read as Hadoop reads it, and again while a server runs."""

from pathlib import Path

import pytest

from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.errors import ConfigurationError
from fairshare.settings.configuration import Configuration
from fairshare.settings.directory import read_directory, refresh
from fairshare.settings.registry import family_of

PACKAGE = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
CLASS = "yarn.resourcemanager.scheduler.class"
FAIR: dict[str, object] = {CLASS: PACKAGE + "fair.FairScheduler"}
CAPACITY: dict[str, object] = {CLASS: PACKAGE + "capacity.CapacityScheduler"}
QUEUES: dict[str, object] = {
    "yarn.scheduler.capacity.root.queues": "a,b",
    "yarn.scheduler.capacity.root.a.capacity": 40,
    "yarn.scheduler.capacity.root.b.capacity": 60,
}


def write(directory: Path, name: str, values: dict[str, object]) -> None:
    lines = [
        f"<property><name>{key}</name><value>{value}</value></property>"
        for key, value in values.items()
    ]
    text = "\n".join(["<configuration>", *lines, "</configuration>"])
    (directory / name).write_text(text)


def refused(directory: Path) -> str:
    with pytest.raises(ConfigurationError) as error:
        read_directory(directory)
    return str(error.value).replace(f"{directory}/", "").replace(str(directory), ".")


def rules(configuration: Configuration) -> list[tuple[str, str]]:
    return [(problem.rule, problem.severity) for problem in configuration.problems]


def test_all_files_of_properties_are_merged(tmp_path: Path) -> None:
    write(tmp_path, "core-site.xml", {"a": "core", "yarn.acl.enable": "true"})
    write(tmp_path, "yarn-site.xml", FAIR | {"a": "yarn"})
    write(tmp_path, "resource-types.xml", {"yarn.resource-types": "gpu"})
    (tmp_path / "fair-scheduler.xml").write_text(
        '<allocations><queue name="q"><maxResources>gpu=1</maxResources></queue></allocations>'
    )
    configuration = read_directory(tmp_path)
    assert configuration.scheduler == "fair"
    assert configuration.types.names == ("memory-mb", "vcores", "gpu")
    assert isinstance(configuration.settings, FairSettings)
    assert configuration.settings.acl_enabled
    assert list(configuration.settings.allocations.queues) == ["root.q"]
    assert configuration.allocation_path == tmp_path / "fair-scheduler.xml"
    assert configuration.site.place("a").file == str(tmp_path / "yarn-site.xml")
    assert configuration.master_max_attempts == 2
    assert configuration.problems == ()


@pytest.mark.parametrize(
    "values",
    [
        {CLASS: PACKAGE + "fifo.FifoScheduler"},
        {"mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.JobQueueTaskScheduler"},
    ],
)
def test_the_fifo_scheduler_is_chosen_by_its_class(
    tmp_path: Path, values: dict[str, object]
) -> None:
    write(tmp_path, "mapred-site.xml", values | {"yarn.resourcemanager.am.max-attempts": 5})
    configuration = read_directory(tmp_path)
    assert configuration.scheduler == "fifo"
    assert isinstance(configuration.settings, FifoSettings)
    assert configuration.master_max_attempts == 5
    assert configuration.problems == ()


def test_without_a_property_the_fair_scheduler_is_chosen_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "fair-scheduler.xml").write_text("<allocations/>")
    configuration = read_directory(tmp_path)
    assert configuration.scheduler == "fair"
    assert rules(configuration) == [("scheduler", "trap")]


@pytest.mark.parametrize("files", [[], ["capacity"], ["fair", "capacity"]])
def test_otherwise_the_capacity_scheduler_holds_as_in_hadoop(
    tmp_path: Path, files: list[str]
) -> None:
    for name in files:
        write(tmp_path, f"{name}-scheduler.xml", QUEUES)
    configuration = read_directory(tmp_path)
    assert configuration.scheduler == "capacity"
    assert isinstance(configuration.settings, CapacitySettings)
    queues = ["root", "root.a", "root.b"] if files else ["root", "root.default"]
    assert list(configuration.settings.queues) == queues


def test_without_capacity_scheduler_xml_there_is_hadoops_one_queue(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", CAPACITY)
    configuration = read_directory(tmp_path)
    assert isinstance(configuration.settings, CapacitySettings)
    assert configuration.settings.queues["root"].children == ("default",)
    assert configuration.settings.queues["root.default"].capacity == Percentage(100.0)
    (problem,) = configuration.problems
    assert (problem.rule, problem.severity) == ("capacity-file", "warning")
    assert problem.file == str(tmp_path / "capacity-scheduler.xml")


def test_capacity_scheduler_xml_wins_over_yarn_site_xml(tmp_path: Path) -> None:
    key = "yarn.scheduler.capacity.maximum-applications"
    write(tmp_path, "yarn-site.xml", CAPACITY | {key: 7, "yarn.acl.enable": "true"})
    write(tmp_path, "capacity-scheduler.xml", QUEUES | {key: 8})
    configuration = read_directory(tmp_path)
    assert isinstance(configuration.settings, CapacitySettings)
    assert configuration.settings.maximum_applications == 8
    assert configuration.settings.acl_enabled
    assert configuration.acl_enabled
    assert configuration.site.place(key).file == str(tmp_path / "capacity-scheduler.xml")
    assert configuration.problems == ()


def test_a_broken_capacity_file_is_reported_once_with_the_other_errors(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", CAPACITY | {"yarn.scheduler.minimum-allocation-mb": "x"})
    (tmp_path / "capacity-scheduler.xml").write_text("<configuration>\n<property>")
    lines = refused(tmp_path).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "capacity-scheduler.xml:2:11",
        "yarn-site.xml:3:67",
    ]


def test_mapping_rules_may_be_in_a_file_beside_the_others(tmp_path: Path) -> None:
    prefix = "yarn.scheduler.capacity.mapping-rule-"
    names = {prefix + "format": "json", prefix + "json-file": "rules.json"}
    write(tmp_path, "capacity-scheduler.xml", QUEUES | names)
    (tmp_path / "rules.json").write_text(
        '{"rules": [{"type": "user", "matches": "ann", "policy": "custom",'
        ' "customPlacement": "root.a"}]}'
    )
    configuration = read_directory(tmp_path)
    assert isinstance(configuration.settings, CapacitySettings)
    assert [rule.path for rule in configuration.settings.mappings] == ["root.a"]
    (tmp_path / "rules.json").unlink()
    assert "json-file: rules.json cannot be read: No such file or directory" in refused(tmp_path)


def test_a_file_may_include_another_one_of_its_directory(tmp_path: Path) -> None:
    included = '<xi:include href="weights.xml"/>'
    write(tmp_path, "capacity-scheduler.xml", QUEUES)
    path = tmp_path / "capacity-scheduler.xml"
    path.write_text(path.read_text().replace("</configuration>", included + "</configuration>"))
    weight = "yarn.scheduler.capacity.root.a.user-settings.ann.weight"
    write(tmp_path, "weights.xml", {weight: "0.5"})
    configuration = read_directory(tmp_path)
    assert isinstance(configuration.settings, CapacitySettings)
    assert configuration.settings.queues["root.a"].user_weights == {"ann": 0.5}
    assert configuration.site.place(weight).file == str(tmp_path / "weights.xml")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("none.xml", "No such file or directory"),
        ("../other.xml", "only files of the directory can be included"),
        ("http://host/a.xml", "only files of the configuration directory can be included"),
        ("yarn-site.xml", "files include each other"),
    ],
)
def test_a_bad_include_is_refused_at_its_place(tmp_path: Path, reference: str, reason: str) -> None:
    (tmp_path.parent / "other.xml").write_text("<configuration/>")
    (tmp_path / "yarn-site.xml").write_text(
        f'<configuration>\n<xi:include href="{reference}"/></configuration>'
    )
    message = refused(tmp_path)
    assert message.startswith("yarn-site.xml:2:1: error: <xi:include>")
    assert reason in message


def test_the_fallback_of_an_included_file_is_used_when_it_is_missing(tmp_path: Path) -> None:
    fallback = "<xi:fallback><property><name>a</name><value>1</value></property></xi:fallback>"
    (tmp_path / "yarn-site.xml").write_text(
        f'<configuration><xi:include href="no.xml">{fallback}</xi:include></configuration>'
    )
    assert "a" in read_directory(tmp_path, scheduler="fifo").site


def test_the_pool_scheduler_is_chosen_by_its_class(tmp_path: Path) -> None:
    values: dict[str, object] = {
        "mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.FairScheduler"
    }
    write(tmp_path, "mapred-site.xml", values)
    assert read_directory(tmp_path).scheduler == "pools"


def test_an_unknown_scheduler_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", {CLASS: "com.example.Scheduler"})
    message = refused(tmp_path)
    assert "there is no scheduler 'com.example.Scheduler'" in message
    assert PACKAGE + "fair.FairScheduler" in message


def test_yarns_property_wins_over_mapreduces(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", {CLASS: PACKAGE + "fifo.FifoScheduler"})
    write(
        tmp_path,
        "mapred-site.xml",
        {"mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.FairScheduler"},
    )
    configuration = read_directory(tmp_path)
    assert configuration.scheduler == "fifo"
    assert rules(configuration) == [("scheduler", "warning")]


@pytest.mark.parametrize("form", ["queues.xml", "{0}/queues.xml", "file://{0}/queues.xml"])
def test_the_allocation_file_may_have_another_name(tmp_path: Path, form: str) -> None:
    name = form.format(tmp_path)
    write(tmp_path, "yarn-site.xml", FAIR | {"yarn.scheduler.fair.allocation.file": name})
    (tmp_path / "queues.xml").write_text('<allocations><queue name="q"/></allocations>')
    configuration = read_directory(tmp_path)
    assert configuration.allocation_path == tmp_path / "queues.xml"
    assert isinstance(configuration.settings, FairSettings)
    assert list(configuration.settings.allocations.queues) == ["root.q"]


def test_without_an_allocation_file_there_is_a_warning(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", FAIR)
    configuration = read_directory(tmp_path)
    assert configuration.allocation_path is None
    assert isinstance(configuration.settings, FairSettings)
    assert not configuration.settings.allocations.from_file
    assert [str(problem) for problem in configuration.problems] == [
        f"{tmp_path}/fair-scheduler.xml: warning: there is no such file: all queues have their"
        " defaults, and only root exists [allocation-file]"
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/no/such/file.xml", "there is no allocation file /no/such/file.xml"),
        ("hdfs://host/fair.xml", "is on a remote file system"),
        ("S3A://bucket/fair.xml", "is on a remote file system"),
        ("ftp://host/fair.xml", "only local files can be read, not ftp"),
    ],
)
def test_an_allocation_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, name: str, reason: str
) -> None:
    write(tmp_path, "yarn-site.xml", FAIR | {"yarn.scheduler.fair.allocation.file": name})
    message = refused(tmp_path)
    assert message.startswith("yarn-site.xml:3:")
    assert reason in message


def test_errors_of_all_files_are_reported_together(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", FAIR | {"yarn.scheduler.fair.max.assign": "all"})
    (tmp_path / "resource-types.xml").write_text("<configuration>")
    (tmp_path / "fair-scheduler.xml").write_text("<allocations><queue/></allocations>")
    (tmp_path / "fairshare.toml").write_text("[server]\nprot = 1\n")
    lines = refused(tmp_path).splitlines()
    assert [line.split(": error: ")[0] for line in lines] == [
        "resource-types.xml:1:16",
        "fairshare.toml:2:1",
        "yarn-site.xml:3:61",
        "fair-scheduler.xml:1:14",
    ]


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    assert refused(tmp_path / "gone") == ".: error: there is no such directory [directory]"


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").mkdir()
    assert "yarn-site.xml: error: cannot be read: Is a directory" in refused(tmp_path)


def test_the_port_of_yarns_web_address_is_taken_and_its_host_is_not(tmp_path: Path) -> None:
    address = "yarn.resourcemanager.webapp.address"
    host = "yarn.resourcemanager.hostname"
    (tmp_path / "fair-scheduler.xml").write_text("<allocations/>")
    write(tmp_path, "yarn-site.xml", FAIR | {host: "rm1", address: f"${{{host}}}:9999"})
    configuration = read_directory(tmp_path)
    assert configuration.shell.server.host == "127.0.0.1"
    assert configuration.shell.server.port == 9999
    assert rules(configuration) == [("web-address", "warning")]
    write(tmp_path, "yarn-site.xml", FAIR | {address: "localhost:9998"})
    configuration = read_directory(tmp_path)
    assert (configuration.shell.server.port, rules(configuration)) == (9998, [])
    write(tmp_path, "yarn-site.xml", FAIR | {address: "localhost"})
    configuration = read_directory(tmp_path)
    assert (configuration.shell.server.port, rules(configuration)) == (8088, [])


@pytest.mark.parametrize("address", ["rm1:", "rm1:http", "rm1:99999"])
def test_a_bad_web_address_is_an_error(tmp_path: Path, address: str) -> None:
    values: dict[str, object] = {"yarn.resourcemanager.webapp.address": address}
    write(tmp_path, "yarn-site.xml", FAIR | values)
    assert f"{address!r} must be host:port" in refused(tmp_path)


def test_a_scheduler_may_be_chosen_whatever_the_properties_say(tmp_path: Path) -> None:
    values: dict[str, object] = {
        CLASS: PACKAGE + "capacity.CapacityScheduler",
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 250,
    }
    write(tmp_path, "yarn-site.xml", values)
    configuration = read_directory(tmp_path, scheduler="fifo")
    assert configuration.scheduler == "fifo"
    assert isinstance(configuration.settings, FifoSettings)
    assert configuration.heartbeat_interval_ms == 250
    (tmp_path / "fair-scheduler.xml").write_text("<allocations/>")
    assert isinstance(read_directory(tmp_path, scheduler="fair").settings, FairSettings)


def test_a_relative_state_directory_counts_from_the_configuration(tmp_path: Path) -> None:
    write(tmp_path, "yarn-site.xml", {CLASS: PACKAGE + "fifo.FifoScheduler"})
    (tmp_path / "fairshare.toml").write_text('[server]\nstate_directory = "state"\nport = 0\n')
    server = read_directory(tmp_path).shell.server
    assert (server.state_directory, server.port) == (str(tmp_path / "state"), 0)


def test_variables_of_the_environment_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUES", "mine.xml")
    (tmp_path / "mine.xml").write_text("<allocations/>")
    values: dict[str, object] = {"yarn.scheduler.fair.allocation.file": "${env.QUEUES}"}
    write(tmp_path, "yarn-site.xml", FAIR | values)
    assert read_directory(tmp_path).allocation_path == tmp_path / "mine.xml"


def write_site(directory: Path, **properties: object) -> None:
    properties = {**FAIR, **properties}
    rows = "\n".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    (directory / "yarn-site.xml").write_text(f"<configuration>\n{rows}\n</configuration>")


def write_queues(directory: Path, *names: str, more: str = "") -> Path:
    path = directory / "fair-scheduler.xml"
    queues = "".join(f'<queue name="{name}"/>' for name in names)
    path.write_text(f"<allocations>\n{queues}\n{more}</allocations>")
    return path


@pytest.fixture
def started(tmp_path: Path) -> Configuration:
    write_site(tmp_path)
    write_queues(tmp_path, "a")
    return read_directory(tmp_path)


def queues_of(settings) -> list[str]:
    return list(settings.allocations.queues)


def test_the_allocation_file_alone_changes_when_it_is_read_again(started, tmp_path):
    path = write_queues(tmp_path, "a", "b")
    write_site(tmp_path, **{"yarn.scheduler.maximum-allocation-mb": 16384})
    settings, problems = family_of("fair").reread_file(path, started.settings)
    assert queues_of(settings) == ["root.a", "root.b"]
    assert settings.maximum_allocation == started.settings.maximum_allocation
    assert problems == ()


def test_all_problems_of_a_bad_allocation_file_are_reported(started, tmp_path):
    path = write_queues(tmp_path, more="<userMaxAppsDefault>x</userMaxAppsDefault>\n<a>")
    path.write_text(
        "<allocations>\n<userMaxAppsDefault>x</userMaxAppsDefault>\n"
        '<queue name="a"><weight>heavy</weight></queue></allocations>'
    )
    with pytest.raises(ConfigurationError) as caught:
        family_of("fair").reread_file(path, started.settings)
    assert [problem.line for problem in caught.value.problems] == [2, 3]


def test_a_file_that_cannot_be_read_is_an_error_with_its_name(started, tmp_path):
    with pytest.raises(ConfigurationError, match=r"gone\.xml: error: cannot be read"):
        family_of("fair").reread_file(tmp_path / "gone.xml", started.settings)


def test_a_refresh_takes_queues_and_maximum_allocation_over(started, tmp_path):
    write_queues(tmp_path, "a", "b")
    write_site(tmp_path, **{"yarn.scheduler.maximum-allocation-mb": 16384})
    found = refresh(started, started.settings)
    assert queues_of(found.settings) == ["root.a", "root.b"]
    assert found.settings.maximum_allocation == (16384, 4)
    assert found.needs_restart == ()


def test_a_refresh_names_what_needs_a_restart_and_leaves_it_as_it_was(started, tmp_path):
    write_site(
        tmp_path,
        **{
            "yarn.scheduler.minimum-allocation-mb": 512,
            "yarn.scheduler.fair.preemption": "true",
            "somebody.elses.property": 1,
        },
    )
    (tmp_path / "fairshare.toml").write_text("[engine]\nnodes = 3\n")
    found = refresh(started, started.settings)
    assert found.settings == started.settings
    assert found.needs_restart == (
        "yarn.scheduler.fair.preemption",
        "yarn.scheduler.minimum-allocation-mb",
        "fairshare.toml: nodes below [engine]",
    )


def test_a_maximum_below_the_minimum_in_force_is_refused_at_its_line(started, tmp_path):
    write_site(
        tmp_path,
        **{
            "yarn.scheduler.minimum-allocation-mb": 128,
            "yarn.scheduler.maximum-allocation-mb": 256,
        },
    )
    with pytest.raises(ConfigurationError, match=r"yarn-site.xml:4:\d+: .* in force"):
        refresh(started, started.settings)


def test_resource_types_cannot_change(started, tmp_path):
    write_site(tmp_path, **{"yarn.resource-types": "yarn.io/gpu"})
    with pytest.raises(ConfigurationError, match="cannot change while the server runs"):
        refresh(started, started.settings)


def test_an_allocation_file_that_was_deleted_is_an_error(started, tmp_path):
    (tmp_path / "fair-scheduler.xml").unlink()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        refresh(started, started.settings)


def test_another_name_for_the_allocation_file_needs_a_restart(started, tmp_path):
    write_site(tmp_path, **{"yarn.scheduler.fair.allocation.file": "other.xml"})
    write_queues(tmp_path, "other").rename(tmp_path / "other.xml")
    write_queues(tmp_path, "a", "b")
    found = refresh(started, started.settings)
    assert queues_of(found.settings) == ["root.a", "root.b"]
    assert found.needs_restart == ("yarn.scheduler.fair.allocation.file",)


def test_an_allocation_file_that_appears_is_taken_over(tmp_path):
    write_site(tmp_path)
    started = read_directory(tmp_path)
    write_queues(tmp_path, "a")
    assert queues_of(refresh(started, started.settings).settings) == ["root.a"]


def test_fifo_takes_its_maximum_allocation_over(tmp_path):
    write_site(tmp_path, **{CLASS: PACKAGE + "fifo.FifoScheduler"})
    started = read_directory(tmp_path)
    write_site(
        tmp_path,
        **{CLASS: PACKAGE + "fifo.FifoScheduler", "yarn.scheduler.maximum-allocation-vcores": 7},
    )
    assert refresh(started, started.settings).settings.maximum_allocation == (8192, 7)


def test_time_limits_are_in_force_after_a_reload(started, tmp_path):
    toml = tmp_path / "fairshare.toml"
    toml.write_text('[time_limits]\ndefault_s = "1h"\n[time_limits.queues.a]\nmaximum_s = 60\n')
    refreshed = refresh(started, started.settings)
    limits = refreshed.settings.time_limits
    assert {name: (one.default_ms, one.maximum_ms) for name, one in limits.items()} == {
        "root": (3_600_000, None),
        "root.a": (None, 60_000),
    }
    assert refreshed.needs_restart == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("default_s = 61\nmaximum_s = 60", "time_limits.default_s is longer than maximum_s"),
        ("default_s = 0", "default_s"),
        ("[time_limits.queues.root]\nmaximum_s = 60", r"belong to \[time_limits\]"),
        (
            '[time_limits.queues.a]\nmaximum_s = 60\n[time_limits.queues."root.a"]\nmaximum_s = 9',
            "are the same",
        ),
    ],
)
def test_time_limits_that_contradict_each_other_are_refused(started, tmp_path, text, words):
    (tmp_path / "fairshare.toml").write_text(f"[time_limits]\n{text}\n")
    with pytest.raises(ConfigurationError, match=words):
        refresh(started, started.settings)
