"""The program that the kernel runs for each device file, run here by a machine of its own."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from fairshare.engines.local.gpus.fence import filter_program

BLOCK, CHARACTER = 1, 2
LOAD, AND, MOVE, EXIT = 0x61, 0x54, 0xB7, 0x95
JUMPS = UNLESS, IF = 0x55, 0x15
MAKE, READ, WRITE = 1, 2, 4

numbers = st.tuples(st.integers(0, 4_095), st.integers(0, 2**20 - 1))


def answer(program: bytes, kind: int, access: int, major: int, minor: int) -> int:
    """What the program answers; as linux/bpf.h defines the instructions that it may have."""
    context = struct.pack("<3I", access << 16 | kind, major, minor)
    registers = [0] * 11
    at = 0
    while True:
        code, places, offset, value = struct.unpack_from("<BBhi", program, 8 * at)
        target, source = places & 15, places >> 4
        at += 1
        if code == LOAD:
            assert source == 1, "only the context can be read"
            (registers[target],) = struct.unpack_from("<I", context, offset)
        elif code == AND:
            registers[target] &= value
        elif code in JUMPS:
            assert offset >= 0, "the kernel must see that it ends"
            at += offset if (registers[target] == value) == (code == IF) else 0
        elif code == MOVE:
            registers[target] = value
        else:
            assert code == EXIT
            return registers[0]


@given(
    st.lists(numbers, min_size=1, max_size=70),
    numbers,
    st.sampled_from([MAKE, READ, WRITE, READ | WRITE]),
)
def test_a_container_may_open_all_character_devices_but_the_listed_ones(denied, other, access):
    program = filter_program(denied)
    assert len(program) % 8 == 0
    for major, minor in denied:
        assert answer(program, CHARACTER, access, major, minor) == 0
    assert answer(program, CHARACTER, access, *other) == (other not in denied)


@given(st.lists(numbers, min_size=1), st.data())
def test_a_disk_with_the_numbers_of_a_listed_device_is_none(denied, data):
    major, minor = data.draw(st.sampled_from(denied))
    assert answer(filter_program(denied), BLOCK, READ, major, minor) == 1


@given(st.lists(numbers, min_size=1))
def test_the_kernel_can_reach_every_instruction(denied):
    program = filter_program(denied)
    reached, left = set(), [0]
    while left:
        at = left.pop()
        if at not in reached:
            reached.add(at)
            code, _, offset, _ = struct.unpack_from("<BBhi", program, 8 * at)
            left += [] if code == EXIT else [at + 1]
            left += [at + 1 + offset] if code in JUMPS else []
    assert reached == set(range(len(program) // 8))


def test_devices_share_their_major_number_with_others_that_stay_open():
    program = filter_program([(195, 0), (195, 1)])
    assert [answer(program, CHARACTER, READ, 195, n) for n in (0, 1, 2, 255)] == [0, 0, 1, 1]
