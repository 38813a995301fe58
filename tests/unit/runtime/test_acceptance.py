"""What cannot be recorded or decided is refused, and leaves the state as it was."""

import types
import typing
from typing import Any

import msgspec
import pytest

from fairshare.core.model import inputs
from fairshare.core.model.events import RequestRefused
from fairshare.core.model.inputs import (
    OWN,
    ChangeLifetime,
    ContainerExited,
    ContainerStarted,
    KillApplication,
    LaunchContainer,
    RequestContainers,
    SetPriority,
    SubmitApplication,
)
from fairshare.core.model.work import Command, ContainerRequest
from fairshare.errors import UndecidedError
from fairshare.runtime.snapshot import freeze

KINDS = typing.get_args(inputs.Input)
FROM_OUTSIDE = [kind for kind in KINDS if kind not in OWN]


def sample(kind: Any) -> Any:
    """Any value of a type, as small as can be."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return sample(typing.get_args(kind)[0])
    if origin is not None:
        return origin()
    if issubclass(kind, msgspec.Struct):
        hints = typing.get_type_hints(kind)
        needed = (f for f in msgspec.structs.fields(kind) if f.required)
        return kind(**{field.name: sample(hints[field.name]) for field in needed})
    return {int: 1, str: "n1", bool: True}.get(kind, kind())


class Failing:
    """Lets a method of a manager fail, before or after what it does."""

    def __init__(self, method: Any, after: bool) -> None:
        self.method = method
        self.after = after

    def __call__(self, step: Any, given: Any) -> None:
        if self.after:
            step.emit(RequestRefused(0, "something", "has happened"))
        raise KeyError("a defect")


def content(bench) -> bytes:
    return freeze(0, 0, {"manager": bench.manager}).body


@pytest.fixture
def reported() -> list[tuple[Any, UndecidedError]]:
    return []


@pytest.fixture
def served(make_bench, submit, reported):
    bench = make_bench(on_undecided=lambda given, error: reported.append((given, error)))
    bench.join("n1")
    bench.runtime.turn(10_000, [submit()])
    return bench


def refusal(steps) -> RequestRefused:
    ((_, (event,)),) = steps
    assert isinstance(event, RequestRefused)
    return event


@pytest.mark.parametrize("kind", FROM_OUTSIDE, ids=lambda kind: kind.__name__)
def test_a_defect_that_shows_before_anything_has_happened_refuses_one_input(
    served, submit, reported, kind
):
    before, records = content(served), len(served.records)
    method = served.manager._inputs[kind]
    served.manager._inputs[kind] = Failing(method, after=False)
    given = sample(kind)
    event = refusal(served.runtime.feed(11_000, [given]))
    assert event.code == "internal-error"
    assert "nothing has changed" in event.reason
    assert [(one, type(error.__cause__)) for one, error in reported] == [(given, KeyError)]
    served.manager._inputs[kind] = method
    assert content(served) == before
    assert len(served.records) == records
    served.runtime.turn(12_000, [submit()])
    assert len(served.records) > records


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_defect_that_shows_after_something_has_happened_stops_the_server(served, reported, kind):
    served.manager._inputs[kind] = Failing(None, after=True)
    with pytest.raises(KeyError, match="a defect"):
        served.runtime.feed(11_000, [sample(kind)])
    assert reported == []


def test_an_event_whose_handler_fails_counts_as_something_that_has_happened(served):
    def broken(now_ms: int, event: Any) -> None:
        raise ValueError("half done")

    for kind in served.state.handlers:
        served.state.handlers[kind] = broken
    with pytest.raises(ValueError, match="half done"):
        served.runtime.feed(11_000, [KillApplication(1)])


def test_a_defect_of_the_schedulers_own_work_stops_the_server(served, reported):
    """A heartbeat keeps notes of its own while it goes on: they cannot be trusted any more."""
    kind = inputs.NodeBeat
    served.manager._inputs[kind] = Failing(None, after=False)
    with pytest.raises(UndecidedError):
        served.runtime.feed(11_000, [sample(kind)])
    assert reported == []


def test_a_runtime_without_an_observer_raises(bench):
    bench.manager._inputs[KillApplication] = Failing(None, after=False)
    with pytest.raises(UndecidedError) as raised:
        bench.runtime.feed(11_000, [KillApplication(1)])
    assert isinstance(raised.value.__cause__, KeyError)


HUGE = 10**30


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (SubmitApplication("ann", priority=HUGE), "priority"),
        (SubmitApplication("ann", lifetime_s=-(2**60)), "lifetime_s"),
        (SubmitApplication("ann", number=2**24), "number"),
        (SubmitApplication("ann", master=(1024, 2**64)), "master[1]"),
        (
            SubmitApplication("ann", details=inputs.SubmissionDetails(max_attempts=HUGE)),
            "details.max_attempts",
        ),
        (
            RequestContainers(1, (ContainerRequest(1, (1024, 1)), ContainerRequest(HUGE, (1, 1)))),
            "requests[1].count",
        ),
        (SetPriority(1, HUGE), "priority"),
        (ChangeLifetime(1, 10**5000), "expires_ms"),
        (LaunchContainer(1, 1 << 40, Command(("true",)), time_limit_ms=HUGE), "time_limit_ms"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_number_out_of_range_is_refused_with_its_place(served, given, place):
    before, records = content(served), len(served.records)
    event = refusal(served.runtime.feed(11_000, [given]))
    assert event.code == "number-out-of-range"
    assert event.reason.startswith(f"{place} is out of range: it is ")
    assert len(event.reason) < 200
    assert content(served) == before
    assert len(served.records) == records


@pytest.mark.parametrize(("most", "beyond"), [(2**53, 2**53 + 1), (-(2**53), -(2**53) - 1)])
def test_the_greatest_number_is_accepted_and_the_next_one_is_not(served, most, beyond):
    expires = ChangeLifetime(1, most)
    ((_, events), *_) = served.runtime.feed(11_000, [expires])
    assert "number-out-of-range" not in [getattr(one, "code", "") for one in events]
    event = refusal(served.runtime.feed(11_000, [ChangeLifetime(1, beyond)]))
    assert event.code == "number-out-of-range"


def test_a_text_whose_bytes_look_like_those_of_large_numbers_is_accepted(served):
    encode = msgspec.msgpack.encode
    name = "\u03cf, \u04c0"  # their bytes begin like MessagePack's numbers of 64 bits
    given = SubmitApplication("ann", queue="root.a", name=name)
    assert b"\xcf" in encode(given)
    assert b"\xd3" in encode(given)
    ((_, events), *_) = served.runtime.feed(11_000, [given])
    assert "number-out-of-range" not in [getattr(one, "code", "") for one in events]


def test_a_text_that_has_no_bytes_is_refused(served):
    event = refusal(served.runtime.feed(11_000, [SubmitApplication("ann", name="\ud800")]))
    assert event.code == "not-recordable"
    assert "cannot be recorded" in event.reason


def test_the_numbers_of_containers_may_have_63_bits(served):
    last = (2**23 - 1) << 40 | 2**40 - 1
    assert served.runtime.feed(11_000, [ContainerExited(last, 0)]) == [
        (ContainerExited(last, 0), ())
    ]


def test_a_plain_report_of_a_container_that_no_record_could_name_is_refused(served):
    for report in (ContainerExited(2**64, 0), ContainerStarted(2**64)):
        ((_, events), *_) = served.runtime.feed(1, [report])
        assert [(type(one), one.code) for one in events] == [(RequestRefused, "not-recordable")]


def test_asks_that_add_up_to_too_much_are_refused(served):
    ask = RequestContainers(1, (ContainerRequest(2**31 - 1, (512, 1), priority=9),))
    served.runtime.feed(11_000, [ask])
    event = refusal(served.runtime.feed(11_000, [ask]))
    assert event.code == "too-many-containers"
