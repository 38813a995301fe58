"""What counts as the same answer of two ResourceManagers, and what as a difference."""

import pytest

pytest.importorskip("google.protobuf", reason="needs the extra fairshare[hadoop]")

from tests.hadoop.compare.answers import (
    Difference,
    Names,
    beans,
    differences,
    document,
    plain,
    refusal,
)

from fairshare.yarn.rpc.wire.messages import ApplicationReportProto, GetClusterNodesResponseProto

NAMES = Names(1_700_000_000_000, {20_123: "web"}, "/run/real")


def test_identifiers_instants_ports_and_folders_have_names() -> None:
    report = ApplicationReportProto(
        applicationId={"id": 7, "cluster_timestamp": NAMES.epoch_ms},
        trackingUrl="http://127.0.0.1:20123/proxy/application_1700000000000_0007/",
        diagnostics="in /run/real/conf at 2026-11-23 08:19:04,687",
        startTime=1_795_000_000_000,
        finishTime=0,
    )
    assert plain(report, NAMES) == {
        "applicationId": {"id": 7, "cluster_timestamp": "EPOCH"},
        "trackingUrl": "http://localhost:web/proxy/application_EPOCH_0007/",
        "diagnostics": "in RUN/conf at INSTANT",
        "startTime": "set",
        "finishTime": 0,
    }


def test_documents_are_compared_without_instants_and_measurements() -> None:
    shown = {
        "nodes": [
            {"id": "b:20123", "cpuUtilization": 12.5, "lastHealthUpdate": 1_795_000_000_000},
            {"id": "a:1", "numContainers": 2, "healthReport": "since 1700000000000"},
        ]
    }
    assert document(shown, NAMES) == {
        "nodes": [
            {"id": "a:1", "numContainers": 2, "healthReport": "since EPOCH"},
            {"id": "b:web", "cpuUtilization": "measured", "lastHealthUpdate": "set"},
        ]
    }


def test_of_beans_the_names_and_the_types_of_fields_are_compared() -> None:
    shown = [
        {"name": "Hadoop:name=RpcActivityForPort20123", "NumOps": 7, "AvgTime": 0.5},
        {"name": "JMImplementation:type=MBeanServerDelegate", "MBeanServerId": "x"},
    ]
    assert beans({"beans": shown}, NAMES) == {
        "Hadoop:name=RpcActivityForPortweb": {"NumOps": "int", "AvgTime": "float"}
    }


def test_a_refusal_is_its_class_and_its_message_without_the_stack() -> None:
    message = "there is none of 1700000000000\n\tat org.apache.A.b(A.java:1)\nCaused by: that"
    assert refusal("java.io.IOException", message, NAMES) == {
        "refused": "java.io.IOException",
        "message": "there is none of EPOCH",
    }


def test_only_the_order_of_lists_and_unset_numbers_may_differ() -> None:
    def nodes(*racks: str, containers: int) -> dict[str, object]:
        message = GetClusterNodesResponseProto()
        for rack in racks:
            message.nodeReports.add(
                nodeId={"host": rack, "port": 1}, rackName=rack, numContainers=containers
            )
        return plain(message, NAMES)

    one, other = nodes("/a", "/b", containers=0), nodes("/b", "/a", containers=0)
    for report in other["nodeReports"]:
        del report["numContainers"]
    assert list(differences({"nodes": one}, {"nodes": other})) == []
    changed = nodes("/a", "/c", containers=0)
    assert list(differences({"nodes": one}, {"nodes": changed})) == [
        Difference("nodes", "nodeReports[].nodeId.host", "/b", "/c"),
        Difference("nodes", "nodeReports[].rackName", "/b", "/c"),
    ]
    assert list(differences({"nodes": one}, {})) == [Difference("nodes", "", one, None)]
