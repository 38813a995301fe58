"""The tokens of drivers."""

import pytest

from fairshare.server.access.tokens import DriverTokens, named_application

SECRET = bytes(range(32))


def test_a_token_is_accepted_for_its_own_attempt_only():
    tokens = DriverTokens(SECRET)
    token = tokens.issue(7, 2)
    assert tokens.accepts(token, 7, 2)
    assert not tokens.accepts(token, 7, 1)
    assert not tokens.accepts(token, 8, 2)


def test_a_restarted_server_accepts_the_tokens_of_the_one_before():
    assert DriverTokens(SECRET).accepts(DriverTokens(SECRET).issue(1, 1), 1, 1)


def test_a_token_names_its_application_and_opens_no_other():
    tokens = DriverTokens(SECRET)
    assert named_application(tokens.issue(7, 2)) == 7
    code = tokens.issue(7, 2).removeprefix("fsd_7_")
    assert len(code) == 43
    for text in (f"fsd_8_{code}", f"fsd__{code}", code, "fsd_7_", "fsd_7"):
        assert not tokens.accepts(text, 7, 2)
        assert not tokens.accepts(text, 8, 2)


def test_another_secret_makes_other_tokens():
    assert not DriverTokens(SECRET[::-1]).accepts(DriverTokens(SECRET).issue(1, 1), 1, 1)


@pytest.mark.parametrize(
    "token", ["", "x", "fsd_1_", "fsd_99999999999999999999_x", "é", "\0", "A" * 10_000]
)
def test_an_invalid_text_is_not_a_token(token):
    assert not DriverTokens(SECRET).accepts(token, 1, 1)


def test_application_and_attempt_cannot_be_shifted_into_each_other():
    tokens = DriverTokens(SECRET)
    assert tokens.issue(1, 11) != tokens.issue(11, 1)


def test_a_short_secret_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        DriverTokens(b"short")
