"""Hadoop's protobuf messages, made from the descriptors that Hadoop's own classes hold.

`files/hadoop.desc` is a FileDescriptorSet that `make protocols` writes. The protocols and methods
in it are listed here by the names that travel; what a method does is the handlers' business.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from msgspec import Struct

PACKAGES = ("hadoop.yarn", "hadoop.common")

APPLICATION_CLIENT = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
APPLICATION_HISTORY = "org.apache.hadoop.yarn.api.ApplicationHistoryProtocolPB"
APPLICATION_MASTER = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
CONTAINER_MANAGEMENT = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
RESOURCE_TRACKER = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
ADMINISTRATION = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
HIGH_AVAILABILITY = "org.apache.hadoop.ha.HAServiceProtocol"
PROTOCOL_INFORMATION = "org.apache.hadoop.ipc.ProtocolMetaInfoPB"

PROTOCOLS: Mapping[str, str] = {
    APPLICATION_CLIENT: "hadoop.yarn.ApplicationClientProtocolService",
    APPLICATION_HISTORY: "hadoop.yarn.ApplicationHistoryProtocolService",
    APPLICATION_MASTER: "hadoop.yarn.ApplicationMasterProtocolService",
    CONTAINER_MANAGEMENT: "hadoop.yarn.ContainerManagementProtocolService",
    RESOURCE_TRACKER: "hadoop.yarn.ResourceTrackerService",
    ADMINISTRATION: "hadoop.yarn.ResourceManagerAdministrationProtocolService",
    HIGH_AVAILABILITY: "hadoop.common.HAServiceProtocolService",
    PROTOCOL_INFORMATION: "hadoop.common.ProtocolInfoService",
}
"""A protocol's name on the wire, and the service of the .proto files that it names."""


UNREAD: Mapping[str, tuple[str, ...]] = {
    "NodeStatusProto": ("containersStatuses", "containers_utilization", "node_utilization"),
}
"""Fields whose messages stay `bytes` here, which travel alike. A heartbeat repeats the same ones
every second for each container of a node: they are compared, and parsed once they differ."""


class Method(Struct, frozen=True):
    """One method of a protocol: its name on the wire and the classes of its messages."""

    name: str
    request: Any
    response: Any


def shipped() -> bytes:
    """The serialized FileDescriptorSet of this package."""
    return (files(__package__) / "files" / "hadoop.desc").read_bytes()


def with_bytes(files: descriptor_pb2.FileDescriptorSet) -> descriptor_pb2.FileDescriptorSet:
    """Hadoop's files as they are used here: the fields of `UNREAD` are bytes."""
    for message in (message for file in files.file for message in file.message_type):
        for field in message.field:
            if field.name in UNREAD.get(message.name, ()):
                field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
                field.ClearField("type_name")
    return files


def _pool() -> Any:
    pool = descriptor_pool.DescriptorPool()
    for file in with_bytes(descriptor_pb2.FileDescriptorSet.FromString(shipped())).file:
        _check_texts(file)
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _check_texts(file: Any) -> None:
    """Let messages of a file be refused whose texts are not UTF-8.

    In files of proto2, as Hadoop's are, such a text is not looked at, and is `bytes` where `str` is
    expected. Of editions each trait of the language is chosen by itself: here all those of proto2
    but this one.
    """
    traits = descriptor_pb2.FeatureSet
    file.syntax, file.edition = "editions", descriptor_pb2.EDITION_2023
    file.options.features.MergeFrom(
        traits(
            field_presence=traits.EXPLICIT,
            enum_type=traits.CLOSED,
            repeated_field_encoding=traits.EXPANDED,
            utf8_validation=traits.VERIFY,
            message_encoding=traits.LENGTH_PREFIXED,
            json_format=traits.LEGACY_BEST_EFFORT,
        )
    )
    for message in file.message_type:
        _choose_traits(message)


def _choose_traits(message: Any) -> None:
    kinds, traits = descriptor_pb2.FieldDescriptorProto, descriptor_pb2.FeatureSet
    for field in message.field:
        if field.label == kinds.LABEL_REQUIRED:
            field.label = kinds.LABEL_OPTIONAL
            field.options.features.field_presence = traits.LEGACY_REQUIRED
        if field.options.packed:
            field.options.features.repeated_field_encoding = traits.PACKED
        field.options.ClearField("packed")
    for inner in message.nested_type:
        _choose_traits(inner)


_POOL = _pool()


def message_or_enum(name: str) -> Any:
    """The class of the message, or the enum, that Hadoop calls so. KeyError: there is none."""
    for package in PACKAGES:
        full_name = f"{package}.{name}"
        try:
            return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(full_name))
        except KeyError:
            pass
        try:
            return EnumTypeWrapper(_POOL.FindEnumTypeByName(full_name))
        except KeyError:
            pass
    raise KeyError(name)


METHODS: Mapping[tuple[str, str], Method] = {
    (protocol, method.name): Method(
        method.name,
        message_factory.GetMessageClass(method.input_type),
        message_factory.GetMessageClass(method.output_type),
    )
    for protocol, service in PROTOCOLS.items()
    for method in _POOL.FindServiceByName(service).methods
}
"""Each method of each protocol, by both names on the wire."""
