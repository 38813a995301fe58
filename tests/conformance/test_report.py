"""The line that counts runs."""

from conformance.comparison import Difference, Verdict
from conformance.report import counting_line
from conformance.side_by_side import Run

SAME = Verdict(None, None)
OTHER = Verdict(Difference(1, "preempt", "event 0", "", None, None), None)


def a_run(verdict: Verdict, chance: str | None = None, *known: str) -> Run:
    return Run("x", {}, {}, {}, list(known), verdict, chance)


def test_what_is_left_to_chance_is_neither_identical_nor_different() -> None:
    by_chance = [a_run(SAME, "as another run of Hadoop's"), a_run(OTHER, "at step 1")]
    runs = [a_run(SAME), a_run(SAME, None, "a defect"), *by_chance, a_run(OTHER)]
    assert counting_line(runs, 6) == (
        "5 scenarios, 2 identical in decisions (40.00 %), 2 in decisions and state (40.00 %);"
        " 2 of the others part by chance, as Hadoop's own runs do;"
        " 1 hold a difference that is there knowingly; 1 the oracle could not run"
    )
    assert [one.differs for one in runs] == [False, False, False, False, True]
