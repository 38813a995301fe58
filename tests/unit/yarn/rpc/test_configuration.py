"""Addresses and intervals come from an unmodified configuration directory of Hadoop."""

import pytest

from fairshare.errors import ConfigurationError
from fairshare.server.settings import Overrides, read_settings
from fairshare.yarn.rpc.configuration import read_hadoop


@pytest.fixture
def read(tmp_path):
    """Reads the settings of a directory with these properties in yarn-site.xml."""

    def reading(toml: str = "", port: int = 8088, **properties: object):
        rows = "".join(
            f"<property>\n<name>{name}</name><value>{value}</value></property>"
            for name, value in properties.items()
        )
        (tmp_path / "yarn-site.xml").write_text(f"<configuration>{rows}</configuration>")
        (tmp_path / "fairshare.toml").write_text(toml)
        settings = read_settings(tmp_path, Overrides(port=port, scheduler="fair"))
        return read_hadoop(settings)

    return reading


RM = "yarn.resourcemanager."


def test_the_ports_are_yarns_on_loopback_unless_the_files_say_otherwise(read):
    assert read().addresses == {
        "client": ("127.0.0.1", 8032),
        "scheduler": ("127.0.0.1", 8030),
        "tracker": ("127.0.0.1", 8031),
        "admin": ("127.0.0.1", 8033),
    }
    found = read(**{f"{RM}hostname": "localhost", f"{RM}scheduler.address": "127.0.0.1:9030"})
    assert found.addresses["scheduler"] == ("127.0.0.1", 9030)
    assert found.addresses["client"] == ("localhost", 8032)


def test_with_any_free_web_port_all_ports_are_free_ones(read):
    assert {port for _, port in read(port=0).addresses.values()} == {0}


def test_intervals_at_their_bounds_are_taken(read):
    found = read(
        **{
            "yarn.nm.liveness-monitor.expiry-interval-ms": 1_000,
            f"{RM}nm-tokens.master-key-rolling-interval-secs": 4,
            f"{RM}am-rm-tokens.master-key-rolling-interval-secs": 2_701,
            f"{RM}nodemanagers.heartbeat-interval-ms": 0,
        }
    )
    assert (found.nodes.expiry_ms, found.nodes.heartbeat_ms) == (1_000, 1_000)
    assert (found.keys.node_rolling_ms, found.keys.master_rolling_ms) == (4_000, 2_701_000)
    assert found.masters.expiry_ms == 900_000, "the default of Hadoop 3.4"


def test_intervals_have_hadoops_names(read):
    found = read(
        **{
            "yarn.nm.liveness-monitor.expiry-interval-ms": 30_000,
            "yarn.am.liveness-monitor.expiry-interval-ms": 40_000,
            f"{RM}nm-tokens.master-key-rolling-interval-secs": 100,
            f"{RM}nodemanager.minimum.version": "EqualToRM",
            f"{RM}rm.container-allocation.expiry-interval-ms": 5_000,
        }
    )
    assert (found.nodes.expiry_ms, found.keys.node_delay_ms) == (30_000, 45_000)
    assert found.nodes.longest_heartbeat_ms == 10_000
    assert (found.masters.expiry_ms, found.masters.token_life_ms) == (40_000, 5_000)
    assert (found.keys.node_rolling_ms, found.keys.container_rolling_ms) == (100_000, 86_400_000)
    assert found.nodes.minimum_version == "3.4.1"
    assert (found.log_aggregation, found.log_aggregation_timeout_ms) == (False, 600_000)


def test_log_aggregation_has_hadoops_names(read):
    timeout = {"yarn.log-aggregation-status.time-out.ms": 1_000}
    found = read(**{"yarn.log-aggregation-enable": "true", **timeout})
    assert (found.log_aggregation, found.log_aggregation_timeout_ms) == (True, 1_000)


TIMELINE = "yarn.timeline-service."


@pytest.mark.parametrize(
    ("properties", "address"),
    [
        ({}, None),
        ({"address": "127.0.0.1:7"}, None),
        ({"enabled": "true"}, ("127.0.0.1", 10_200)),
        ({"generic-application-history.enabled": "true"}, ("127.0.0.1", 10_200)),
        ({"enabled": "true", "hostname": "localhost"}, ("localhost", 10_200)),
        ({"enabled": "true", "address": "127.0.0.1:7"}, ("127.0.0.1", 7)),
        ({"enabled": "true", "hostname": "203.0.113.7"}, None),  # of no machine
    ],
)
def test_clients_that_ask_a_timeline_server_are_served_where_it_would_be(read, properties, address):
    properties = {f"{TIMELINE}{name}": value for name, value in properties.items()}
    assert read(**properties).history == address


def test_the_address_of_a_timeline_server_has_a_port(read):
    with pytest.raises(ConfigurationError, match="must be host:port"):
        read(**{f"{TIMELINE}enabled": "true", f"{TIMELINE}address": "localhost"})


@pytest.mark.parametrize(
    ("properties", "place", "problem"),
    [
        ({}, "/tmp/logs", ""),
        ({"remote-app-log-dir": "file:///var/logs"}, "/var/logs", ""),
        ({"remote-app-log-dir": "hdfs://nn/logs"}, "/logs", "is in hdfs:"),
    ],
)
def test_logs_are_aggregated_in_a_directory_of_this_machine(read, properties, place, problem):
    names = {f"yarn.nodemanager.{name}": value for name, value in properties.items()}
    logs = read(**names).remote_logs
    assert (str(logs.directory), logs.suffix) == (place, "logs-tfile")
    assert problem in logs.problem
    assert bool(problem) == bool(logs.problem)


def test_logs_are_aggregated_in_one_format(read):
    logs = read(**{"yarn.log-aggregation.file-formats": "IFile"}).remote_logs
    assert "has no TFile" in logs.problem


def test_the_shuffle_has_its_port_of_hadoop_and_is_not_encrypted(read):
    assert read().shuffle_port == 0
    assert read(**{"mapreduce.shuffle.port": 13_562}).shuffle_port == 13_562
    with pytest.raises(ConfigurationError, match="there is no port 70000"):
        read(**{"mapreduce.shuffle.port": 70_000})
    with pytest.raises(ConfigurationError, match="is not encrypted"):
        read(**{"mapreduce.shuffle.ssl.enabled": "true"})


def test_an_address_of_the_network_needs_consent(read):
    with pytest.raises(ConfigurationError, match="could act as any user"):
        read(**{f"{RM}hostname": "10.0.0.5"})
    found = read("[hadoop]\nopen_to_network = true\n", **{f"{RM}hostname": "10.0.0.5"})
    assert found.addresses["tracker"] == ("10.0.0.5", 8031)


def test_one_of_two_resource_managers_takes_the_addresses_of_its_id(read):
    properties = {
        f"{RM}ha.enabled": "true",
        f"{RM}ha.rm-ids": "rm1,rm2",
        f"{RM}ha.id": "rm2",
        f"{RM}hostname.rm1": "127.0.0.1",
        f"{RM}hostname.rm2": "localhost",
        f"{RM}address.rm2": "localhost:18032",
    }
    found = read(**properties)
    assert found.addresses["client"] == ("localhost", 18032)
    assert found.addresses["scheduler"] == ("localhost", 8030)
    with pytest.raises(ConfigurationError, match=r"set yarn.resourcemanager.ha.id"):
        read(**{**properties, f"{RM}ha.id": "rm3"})


def test_one_of_two_resource_managers_knows_itself_by_the_address_of_its_machine(read):
    properties = {
        f"{RM}ha.enabled": "true",
        f"{RM}ha.rm-ids": "rm1,rm2",
        f"{RM}hostname.rm1": "203.0.113.7",  # an address for documentation, of no machine
        f"{RM}address.rm2": "127.0.0.1:18032",
        f"{RM}hostname.rm2": "127.0.0.1",
    }
    assert read(**properties).addresses["client"] == ("127.0.0.1", 18032)
    both = {**properties, f"{RM}hostname.rm1": "localhost"}
    with pytest.raises(ConfigurationError, match="the addresses of rm1, rm2 are of this machine"):
        read(**both)
    neither = {**properties, f"{RM}address.rm2": "203.0.113.8:8032"}
    with pytest.raises(ConfigurationError, match="the addresses of none of them are of this"):
        read(**neither)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("hadoop.security.authentication", "kerberos", "Kerberos is not supported"),
        ("hadoop.rpc.protection", "privacy", "neither signed nor encrypted"),
        ("hadoop.security.authorization", "true", "lists of users for each protocol"),
        (f"{RM}address", "127.0.0.1:high", "must be host:port"),
        (f"{RM}nodes.exclude-path", "/nowhere", "/nowhere cannot be read"),
        ("yarn.nm.liveness-monitor.expiry-interval-ms", "0", "must be at least 1"),
        ("yarn.nm.liveness-monitor.expiry-interval-ms", "999", "no less than heartbeat interval"),
        (f"{RM}nm-tokens.master-key-rolling-interval-secs", "1800", "should be more than 3 X"),
        (f"{RM}am-rm-tokens.master-key-rolling-interval-secs", "2700", "should be more than 3 X"),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_its_line(read, name, value, words):
    with pytest.raises(ConfigurationError, match=words) as refused:
        read(**{name: value})
    if name != f"{RM}nodes.exclude-path":
        assert "yarn-site.xml:2" in str(refused.value)
