"""Identifiers and resources survive the way to Hadoop's messages and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.core.model.identifiers import NUMBER_MASK, container_id
from fairshare.core.model.resources import ResourceTypes
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.wire import calls
from fairshare.yarn.rpc.wire.calls import RpcError
from fairshare.yarn.rpc.wire.messages import ContainerIdProto, NodeIdProto, ResourceProto

EPOCH_MS = 1_700_000_000_000
TYPES = ResourceTypes(("memory-mb", "vcores", "yarn.io/gpu", "disk"), ("Mi", "", "", "G"))


@given(st.integers(1, 2**31 - 1), st.integers(1, 255), st.integers(1, NUMBER_MASK))
def test_a_container_is_found_again(application, attempt, number):
    container = container_id(application, attempt, number)
    message = records.container_id_message(EPOCH_MS, container)
    sent = ContainerIdProto.FromString(message.SerializeToString())
    assert records.container_of(sent, EPOCH_MS) == container
    assert records.container_of(sent, EPOCH_MS + 1) is None


def test_a_container_of_an_earlier_epoch_of_another_manager_is_not_ours():
    message = ContainerIdProto()
    message.CopyFrom(records.container_id_message(EPOCH_MS, container_id(7, 1, 3)))
    assert records.container_text(message) == f"container_{EPOCH_MS}_0007_01_000003"
    message.id |= 5 << 40
    assert records.container_of(message, EPOCH_MS) is None
    assert records.container_text(message) == f"container_e05_{EPOCH_MS}_0007_01_000003"


@pytest.mark.parametrize("name", ["localhost:45454", "fd00::1:8041", "n1"])
def test_a_node_is_found_again(name):
    sent = NodeIdProto.FromString(records.node_id_message(name).SerializeToString())
    assert records.node_name(sent) == name


@given(st.tuples(*[st.integers(0, 2**31 - 1)] * 4))
def test_a_resource_is_found_again(amounts):
    message = records.resource_message(amounts, TYPES)
    assert (message.memory, message.virtual_cores) == amounts[:2]
    sent = ResourceProto.FromString(message.SerializeToString())
    assert records.resource_of(sent, TYPES) == amounts


def test_old_clients_name_memory_and_vcores_alone():
    assert records.resource_of(ResourceProto(memory=512, virtual_cores=2), TYPES) == (
        512,
        2,
        0,
        0,
    )


def test_units_are_converted_to_those_of_the_cluster():
    message = ResourceProto()
    message.resource_value_map.add(key="memory-mb", value=2, units="Gi")
    message.resource_value_map.add(key="disk", value=3, units="T")
    assert records.resource_of(message, TYPES) == (2048, 0, 0, 3000)


@pytest.mark.parametrize(
    ("entry", "words", "class_name"),
    [
        ({"key": "fpga", "value": 1}, "Unknown resource type 'fpga'", "INVALID_RESOURCE_REQUEST"),
        ({"key": "disk", "value": 1, "units": "X"}, "Unknown unit 'X'", "ILLEGAL_ARGUMENT"),
        ({"key": "disk", "value": 2**62, "units": "P"}, "are too much", "ILLEGAL_ARGUMENT"),
    ],
)
def test_what_cannot_be_a_resource_is_refused_by_name(entry, words, class_name):
    message = ResourceProto()
    message.resource_value_map.add(**entry)
    with pytest.raises(RpcError, match=words) as refused:
        records.resource_of(message, TYPES)
    assert refused.value.class_name == getattr(calls, class_name)
