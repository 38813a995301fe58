"""Futures of an executor, as `concurrent.futures` sees them."""

from concurrent.futures import CancelledError, as_completed, wait

import pytest

from fairshare.client.executor.calls import Call, Load


def test_a_call_that_is_cancelled_is_dropped_once():
    dropped = []
    call = Call("c", b"", b"", dropped.append)
    assert call.future.cancel()
    assert call.future.cancel()
    assert dropped == [call]
    with pytest.raises(CancelledError):
        call.future.result(0)


def test_waiting_for_several_calls_ends_when_one_is_cancelled():
    call = Call("c", b"", b"", lambda call: None)
    call.container = "container_1"  # it runs
    assert call.future.running()
    call.future.cancel()
    assert wait([call.future], timeout=0).done == {call.future}
    assert list(as_completed([call.future], timeout=0)) == [call.future]


def test_what_is_over_is_neither_cancelled_nor_said_twice():
    dropped = []
    call = Call("c", b"", b"", dropped.append)
    assert call.future.settle(value=9)
    assert not call.future.settle(error=ValueError())
    assert not call.future.cancel()
    assert call.future.result(0) == 9
    assert dropped == []


def test_what_was_cancelled_has_no_outcome_any_more():
    call = Call("c", b"", b"", lambda call: None)
    call.future.cancel()
    assert not call.future.settle(value=9)
    assert call.future.cancelled()


def test_calls_of_one_function_carry_it_once():
    load = Load()
    for name, function in (("1", b"function"), ("2", b"function"), ("3", b"other")):
        load.add(Call(name, function, b"args", lambda call: None))
    assert list(load.functions) == [b"function", b"other"]
    assert load.rows() == [("1", 0, b"args"), ("2", 0, b"args"), ("3", 1, b"args")]
    assert load.size == len(b"function") + len(b"other") + 3 * len(b"args")
