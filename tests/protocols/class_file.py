"""The string constants of a Java class file, which is where protoc keeps a descriptor.

Format: "The class File Format", chapter 4 of the Java Virtual Machine Specification.
"""

from struct import unpack_from

_UTF8 = 1
_STRING = 8
_TWO_ENTRIES = (5, 6)  # long and double take two numbers of the pool
_SIZE = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5}
_SIZE |= {15: 4, 16: 3, 17: 5, 18: 5, 19: 3, 20: 3}


def string_constants(class_file: bytes) -> list[bytes]:
    """The strings of the constant pool, in its order; characters 0 to 255 are bytes."""
    (count,) = unpack_from(">H", class_file, 8)
    texts: dict[int, bytes] = {}
    strings: list[int] = []
    number, at = 1, 10
    while number < count:
        tag = class_file[at]
        if tag == _UTF8:
            (length,) = unpack_from(">H", class_file, at + 1)
            texts[number] = class_file[at + 3 : at + 3 + length]
            at += 3 + length
        else:
            if tag == _STRING:
                strings += unpack_from(">H", class_file, at + 1)
            at += _SIZE[tag]
        number += 2 if tag in _TWO_ENTRIES else 1
    return [texts[string] for string in strings]


def as_bytes(text: bytes) -> bytes:
    """Bytes of a string constant: Java's modified UTF-8 writes 0 in two bytes, too."""
    return text.replace(b"\xc0\x80", b"\0").decode().encode("latin-1")
