"""What the log says of callers when the ports open."""

import pytest

from fairshare.yarn.rpc.ports import warning_of


@pytest.mark.parametrize(
    ("hosts", "elsewhere_proven", "words"),
    [
        ({"127.0.0.1", "localhost"}, False, ""),
        ({"127.0.0.1"}, True, "callers on these ports need no proof, as web callers do"),
        (
            {"127.0.0.1", "10.0.0.5"},
            False,
            "any caller that reaches 10.0.0.5 can act as any user, and as",
        ),
        ({"0.0.0.0"}, True, "any caller that reaches 0.0.0.0 can act as any user"),
    ],
)
def test_the_start_warns_of_callers_that_can_act_as_any_user(hosts, elsewhere_proven, words):
    warning = warning_of(hosts, elsewhere_proven=elsewhere_proven)
    assert warning.startswith(words)
    assert bool(warning) == bool(words)
