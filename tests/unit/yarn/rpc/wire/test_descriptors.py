"""The shipped descriptors are whole, and are what `make protocols` writes."""

import os
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError, EncodeError
from tests.protocols.__main__ import descriptors as read_jars
from tests.protocols.stub import stub_of

from fairshare.yarn.rpc.wire import descriptors, messages

ARTIFACTS = ("hadoop-common", "hadoop-yarn-api", "hadoop-yarn-common", "hadoop-yarn-server-common")
REPOSITORY = Path(os.environ.get("HOME", "/")) / ".m2/repository/org/apache/hadoop"
JARS = [REPOSITORY / name / "3.4.1" / f"{name}-3.4.1.jar" for name in ARTIFACTS]


def test_every_protocol_has_the_methods_of_hadoop_3_4() -> None:
    counts = {
        protocol.rpartition(".")[2]: sum(key[0] == protocol for key in descriptors.METHODS)
        for protocol in descriptors.PROTOCOLS
    }
    assert counts == {
        "ApplicationClientProtocolPB": 35,
        "ApplicationHistoryProtocolPB": 9,
        "ApplicationMasterProtocolPB": 3,
        "ContainerManagementProtocolPB": 12,
        "ResourceTrackerPB": 3,
        "ResourceManagerAdministrationProtocolPB": 22,
        "HAServiceProtocol": 5,
        "ProtocolMetaInfoPB": 2,
    }


def test_type_checkers_know_the_messages_of_the_descriptors() -> None:
    stub = Path(messages.__file__).with_suffix(".pyi").read_text()
    assert stub == stub_of(
        descriptors.with_bytes(FileDescriptorSet.FromString(descriptors.shipped()))
    )


def test_a_method_makes_its_own_messages() -> None:
    method = descriptors.METHODS[descriptors.RESOURCE_TRACKER, "nodeHeartbeat"]
    answer = method.response(response_id=7)
    assert method.response.FromString(answer.SerializeToString()).response_id == 7
    assert method.request is messages.NodeHeartbeatRequestProto


def test_a_call_id_is_signed_in_a_request() -> None:
    header = messages.RpcRequestHeaderProto(callId=-33, clientId=b"")
    assert messages.RpcRequestHeaderProto.FromString(header.SerializeToString()).callId == -33


def test_enums_have_hadoops_values() -> None:
    assert messages.NodeActionProto.NORMAL == 0
    assert messages.NodeActionProto.Value("SHUTDOWN") == 2
    assert messages.DecommissionTypeProto.DECOMMISSION_FORCEFUL == 3


def test_a_message_that_hadoop_does_not_have_is_named() -> None:
    with pytest.raises(AttributeError, match="no message or enum 'NodeHartbeat'"):
        messages.NodeHartbeat  # noqa: B018


@pytest.mark.skipif(not all(jar.exists() for jar in JARS), reason="needs Hadoop's jars in ~/.m2")
def test_the_shipped_file_is_what_the_jars_hold() -> None:
    written = read_jars(JARS).SerializeToString(deterministic=True)
    assert written == descriptors.shipped()


def test_a_text_that_is_not_utf_8_is_refused_like_any_message_that_cannot_be_read() -> None:
    context = descriptors.message_or_enum("IpcConnectionContextProto")
    with pytest.raises(DecodeError, match="UTF-8"):
        context.FromString(b"\x12\x05\n\x03\x80nn")
    assert context.FromString(b"\x12\x05\n\x03ann").userInfo.effectiveUser == "ann"


def test_a_field_that_hadoop_requires_is_required() -> None:
    header = descriptors.message_or_enum("RpcRequestHeaderProto")
    with pytest.raises(EncodeError, match="callId"):
        header().SerializeToString()
