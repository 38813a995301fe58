"""What repeats is told a few times, and then as a number."""

from fairshare.server.access.repeated_messages import MOST_KEYS, OTHERS, RepeatedMessages


def recorded():
    reported = []
    return reported, RepeatedMessages(
        lambda item, repeated, key: reported.append((item, repeated, key))
    )


def test_the_first_messages_are_reported_and_the_others_counted():
    reported, repeats = recorded()
    assert repeats.add("ann", "1", 2)
    assert not any(repeats.add("ann", str(number), 2) for number in range(2, 7))
    repeats.add("bob", "x", 2)
    assert reported == [("1", 0, "ann"), ("2", 0, "ann"), ("x", 0, "bob")]
    repeats.flush()
    assert reported[3:] == [("6", 4, "ann")]
    assert repeats.add("ann", "7", 2)
    assert reported[-1] == ("7", 0, "ann")


def test_of_very_many_callers_the_later_ones_are_one():
    reported, repeats = recorded()
    for number in range(10 * MOST_KEYS):
        repeats.add(str(number), "x")
    assert len(reported) == MOST_KEYS + 1
    repeats.flush()
    assert reported[-1] == ("x", 9 * MOST_KEYS - 1, OTHERS)
    assert len(reported) == MOST_KEYS + 2
