"""The numbers of several runs: means and intervals."""

import doctest

from fairshare.lab.simulate import repetition as module
from fairshare.lab.simulate.repetition import RunNumbers, estimate, repetition


def numbers(seed, **whole):
    queue = {"root.a": {"wait_p50": float(seed)}} if seed > 1 else {}
    return RunNumbers("fair", seed, 0, whole, queue, {}, {})


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(module).failed == 0


def test_an_interval_of_one_run_is_the_number():
    assert estimate([5.0]) == module.Estimate(5.0, 5.0, 5.0, 1)


def test_runs_are_in_the_order_of_their_seeds_and_numbers_that_some_lack_count_where_they_are():
    found = repetition([numbers(3, jain=0.5), numbers(1), numbers(2, jain=0.7)])
    assert found.seeds == (1, 2, 3)
    assert (found.whole["jain"].mean, found.whole["jain"].runs) == (0.6, 2)
    assert (found.queues["root.a"]["wait_p50"].mean) == 2.5
