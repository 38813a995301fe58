"""Messages of any content for Hypothesis: each field is set or not, by its type."""

from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import strategies as st

_BITS = {
    FieldDescriptor.TYPE_INT32: 31,
    FieldDescriptor.TYPE_SINT32: 31,
    FieldDescriptor.TYPE_INT64: 63,
    FieldDescriptor.TYPE_SINT64: 63,
    FieldDescriptor.TYPE_UINT32: 32,
    FieldDescriptor.TYPE_UINT64: 64,
}
_UNSIGNED = (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64)
WORDS = st.sampled_from(
    ["", "*", "root", "default", "root.default", "nowhere", "h1", "h1:1", "a\nb", "ann", "x" * 5000]
)
_NUMBERS = st.sampled_from([0, 1, 2, -1, 3, 100, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
_DEEPEST = 6


class Messages:
    """Strategies for messages. Each is made once: to make one takes longer than to draw from it.

    `known` has strategies of its own for message types by name, for identifiers that exist.
    """

    def __init__(self, known: dict[str, st.SearchStrategy[Any]]) -> None:
        self._known = known
        self._made: dict[tuple[str, int], st.SearchStrategy[Any]] = {}

    def of(self, kind: Any, depth: int = 0) -> st.SearchStrategy[Any]:
        """The strategy for messages of a class."""
        key = (kind.DESCRIPTOR.full_name, depth)
        if key not in self._made:
            self._made[key] = self._make(kind, depth)
        return self._made[key]

    def _make(self, kind: Any, depth: int) -> st.SearchStrategy[Any]:
        descriptor = kind.DESCRIPTOR
        own = self._known.get(descriptor.name)
        fields = {}
        for field in descriptor.fields:
            values = self._values(field, depth)
            if values is None:
                continue
            if field.is_repeated:
                values = st.lists(values, max_size=3)
            fields[field.name] = values if field.is_required else st.none() | values
        made = st.fixed_dictionaries(fields).map(
            lambda found: kind(**{name: one for name, one in found.items() if one is not None})
        )
        return made if own is None else own | own | own | made

    def _values(self, field: Any, depth: int) -> Any:
        if field.message_type is None:
            return _plain_values(field)
        if depth > _DEEPEST:
            return None
        return self.of(message_factory.GetMessageClass(field.message_type), depth + 1)


def _plain_values(field: Any) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        return st.sampled_from([one.number for one in field.enum_type.values])
    bits = _BITS.get(field.type)
    if bits is not None:
        least, most = 0 if field.type in _UNSIGNED else -(2**bits), 2**bits - 1
        return (_NUMBERS | st.integers(least, most)).filter(lambda n: least <= n <= most)
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return st.floats(width=32)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=20)
    return WORDS | st.text(max_size=5)
