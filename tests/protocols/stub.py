"""Writes what type checkers know of Hadoop's messages: a stub of `yarn/rpc/wire/messages.py`.

A message is a class with a field for each of its fields, by which checkers know its constructor
too. An enum has each of its values as an int. Fields of enums are ints, as in Python's protobuf.
"""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)

HEAD = '''"""Hadoop's messages and enums for type checkers; `make protocols` writes this file."""

from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar, dataclass_transform, overload

T = TypeVar("T")

class RepeatedField(list[T], Generic[T]):
    def add(self, **fields: Any) -> T: ...
    def MergeFrom(self, other: Iterable[T]) -> None: ...

class Repeated(Generic[T]):
    @overload
    def __get__(self, message: None, kind: Any) -> Repeated[T]: ...
    @overload
    def __get__(self, message: object, kind: Any) -> RepeatedField[T]: ...
    def __set__(self, message: object, values: Iterable[T]) -> None: ...

class Enum:
    @classmethod
    def Value(cls, name: str) -> int: ...
    @classmethod
    def Name(cls, number: int) -> str: ...
    @classmethod
    def keys(cls) -> list[str]: ...
    @classmethod
    def values(cls) -> list[int]: ...
    @classmethod
    def items(cls) -> list[tuple[str, int]]: ...

@dataclass_transform(kw_only_default=True)
class Message:
    DESCRIPTOR: Any
    @classmethod
    def FromString(cls, data: bytes) -> Self: ...
    def SerializeToString(self) -> bytes: ...
    def ParseFromString(self, data: bytes) -> int: ...
    def CopyFrom(self, other: Self) -> None: ...
    def MergeFrom(self, other: Self) -> None: ...
    def ByteSize(self) -> int: ...
    def HasField(self, name: str) -> bool: ...
    def ClearField(self, name: str) -> None: ...
    def Clear(self) -> None: ...
    def IsInitialized(self) -> bool: ...
    def SetInParent(self) -> None: ...
    def ListFields(self) -> list[tuple[Any, Any]]: ...
'''

_KINDS = FieldDescriptorProto
_TEXTS = {
    _KINDS.TYPE_STRING: "str",
    _KINDS.TYPE_BYTES: "bytes",
    _KINDS.TYPE_BOOL: "bool",
    _KINDS.TYPE_FLOAT: "float",
    _KINDS.TYPE_DOUBLE: "float",
}
"""The types of Python that are not int; messages have their own."""


def stub_of(files: FileDescriptorSet) -> str:
    """The text of the stub, the messages in the order of the files."""
    lines = [HEAD]
    for file in files.file:
        for enum in file.enum_type:
            lines += _enum(enum)
        for message in file.message_type:
            lines += _message(message)
    return "\n".join(lines).rstrip() + "\n"


def _enum(enum: EnumDescriptorProto, margin: str = "") -> Iterator[str]:
    yield f"{margin}class {enum.name}(Enum):"
    for value in enum.value:
        yield f"{margin}    {value.name}: int"
    yield ""


def _message(message: DescriptorProto, margin: str = "") -> Iterator[str]:
    yield f"{margin}class {message.name}(Message):"
    inside = margin + "    "
    if not (message.field or message.nested_type or message.enum_type):
        yield f"{inside}pass"
    for enum in message.enum_type:
        yield from _enum(enum, inside)
    for inner in message.nested_type:
        yield from _message(inner, inside)
    for field in message.field:
        kind = _TEXTS.get(field.type, "int")
        if field.type == _KINDS.TYPE_MESSAGE:
            kind = field.type_name.split(".", 3)[-1]
        if field.label == _KINDS.LABEL_REPEATED:
            kind = f"Repeated[{kind}]"
        yield f"{inside}{field.name}: {kind} = ..."
    yield ""
