"""Who used how much, in intervals that double."""

from fairshare.lab.simulate.usage import FIRST_INTERVAL_MS, MOST_INTERVALS, Usage

TOTAL = (100, 10)


def test_amounts_are_multiplied_with_their_time():
    usage = Usage((0, 0))
    usage.offer(0, TOTAL)
    usage.change(100, "a", (4, 1))
    usage.change(600, "a", (4, 1))
    usage.change(900, "a", (-8, -2))
    usage.advance(1_000, {"a": (50, 5)})
    (interval,) = usage.intervals
    assert (interval.at_ms, interval.length_ms, interval.total) == (0, 1_000, (100_000, 10_000))
    assert interval.used == {"a": (4 * 500 + 8 * 300, 500 + 2 * 300)}
    assert interval.shares == {"a": (50_000, 5_000)}


def test_what_goes_on_is_counted_in_each_interval():
    usage = Usage((0, 0))
    usage.change(500, "a", (2, 0))
    usage.finish(2_500, {})
    assert [(one.length_ms, one.used.get("a", 0)) for one in usage.intervals] == [
        (1_000, (1_000, 0)),
        (1_000, (2_000, 0)),
        (500, (1_000, 0)),
    ]


def test_a_share_counts_from_one_look_to_the_next():
    usage = Usage((0, 0))
    usage.advance(400, {"a": (10, 0)})
    assert usage.look_ms == 501
    usage.advance(700, {"a": (20, 0)})
    usage.advance(1_000, {"a": (30, 0), "b": (0, 0)})
    assert usage.intervals[0].shares == {"a": (1 * 10 + 500 * 20 + 499 * 30, 0)}


def test_instants_at_which_nothing_changes_change_nothing():
    few, many = Usage((0, 0)), Usage((0, 0))
    for now_ms, share in ((700, 10), (1_900, 20), (4_000, 0)):
        few.advance(now_ms, {"a": (share, 0)})
        for earlier_ms in (now_ms - 150, now_ms - 3, now_ms):
            many.advance(earlier_ms, {"a": (share, 0)})
    assert many.intervals == few.intervals


def test_intervals_double_when_there_are_too_many():
    usage = Usage((0, 0))
    usage.change(0, "a", (3, 0))
    end_ms = 1_000 * FIRST_INTERVAL_MS
    usage.finish(end_ms, {"a": (7, 0)})
    intervals = usage.intervals
    assert MOST_INTERVALS / 2 <= len(intervals) < MOST_INTERVALS
    assert sum(one.length_ms for one in intervals) == end_ms
    assert sum(one.used["a"][0] for one in intervals) == 3 * end_ms
    assert sum(one.shares["a"][0] for one in intervals) == 7 * end_ms
    assert [one.at_ms for one in intervals[:2]] == [0, intervals[0].length_ms]


def test_finishing_where_an_interval_has_just_ended_adds_none():
    usage = Usage((0, 0))
    usage.advance(1_000, {})
    usage.finish(1_000, {})
    assert len(usage.intervals) == 1


def test_an_interval_has_nothing_of_the_next_one():
    usage = Usage((0, 0))
    for now_ms in range(0, 300_000, 7):
        if now_ms >= usage.look_ms:
            usage.advance(now_ms, {})
        if now_ms == 0:
            usage.change(now_ms, "a", (100, 0))
        elif now_ms % 70 == 0:  # one container ends, and the next one begins
            usage.change(now_ms, "a", (-100, 0))
            usage.change(now_ms, "a", (100, 0))
    usage.finish(300_000, {})
    assert {one.used["a"][0] / one.length_ms for one in usage.intervals} == {100.0}


def test_the_total_is_that_of_the_nodes_that_were_there():
    usage = Usage((0, 0))
    usage.offer(0, TOTAL)
    for now_ms, there in ((1_250, (0, 0)), (2_500, TOTAL)):  # the only node is away in between
        usage.advance(now_ms, {})
        usage.offer(now_ms, there)
    usage.finish(3_000, {})
    assert [one.total[0] for one in usage.intervals] == [100_000, 25_000, 50_000]


def test_a_queue_that_is_removed_has_no_share_any_more():
    usage = Usage((0, 0))
    usage.advance(500, {"a": (10, 0), "b": (5, 0)})
    usage.advance(1_000, {"b": (5, 0)})
    usage.advance(2_000, {"a": (3, 0), "b": (5, 0)})
    assert [one.shares for one in usage.intervals] == [
        {"a": (10 * 1, 0), "b": (5 * 1_000, 0)},
        {"a": (3 * 1_000, 0), "b": (5 * 1_000, 0)},
    ]
