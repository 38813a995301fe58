"""The profile of a container's processor time."""

from collections import Counter

import pytest
from benchmarks.layers import module_of, show
from benchmarks.workload import Driver

from fairshare.core.schedulers.fair.state import FairState


def test_a_function_is_named_by_its_module_in_the_package():
    assert module_of(FairState._use.__code__) == "core/schedulers/fair/state"
    assert module_of(Driver.heartbeat.__code__) == "the benchmark"
    assert module_of(pytest.main.__code__) == "libraries"


def test_shares_are_of_all_samples(capsys):
    counts = Counter({FairState._use.__code__: 3, Driver.heartbeat.__code__: 1})
    show("fill", 1000, counts, 1)
    assert capsys.readouterr().out.splitlines() == [
        "fill: 1,000 containers, 4 samples",
        "   75.0 %  core/schedulers/fair",
        "   25.0 %  the benchmark",
        "   75.0 %    core/schedulers/fair/state: FairState._use",
    ]
