"""Tokens, their passwords, and files of tokens."""

import contextlib
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.yarn.rpc.wire import tokens
from fairshare.yarn.rpc.wire.messages import AMRMTokenIdentifierProto
from fairshare.yarn.rpc.wire.tokens import BadCredentials, Credentials, Token

TOKENS = st.builds(Token, st.binary(max_size=300), st.binary(max_size=30), st.text(), st.text())
CREDENTIALS = st.builds(
    Credentials,
    st.dictionaries(st.text(max_size=200), TOKENS, max_size=4),
    st.dictionaries(st.text(max_size=20), st.binary(max_size=500), max_size=4),
)


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, b"\x00"),
        (127, b"\x7f"),
        (-112, b"\x90"),
        (128, b"\x8f\x80"),
        (255, b"\x8f\xff"),
        (256, b"\x8e\x01\x00"),
        (-113, b"\x87\x70"),
        (-257, b"\x86\x01\x00"),
    ],
)
def test_a_number_is_written_as_hadoop_writes_it(value: int, data: bytes) -> None:
    assert tokens.write_vint(value) == data
    assert tokens._Reader(data).vint() == value


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_number_is_read_as_it_was_written(value: int) -> None:
    assert tokens._Reader(tokens.write_vint(value)).vint() == value


@given(CREDENTIALS)
def test_credentials_are_read_as_they_were_written(credentials: Credentials) -> None:
    assert tokens.read_credentials(tokens.write_credentials(credentials)) == credentials


def test_empty_bytes_are_not_credentials() -> None:
    assert tokens.read_credentials(b"") == Credentials()


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with contextlib.suppress(BadCredentials):
        tokens.read_credentials(b"HDTS\0" + data)


def test_a_file_of_another_format_is_refused() -> None:
    with pytest.raises(BadCredentials, match="version 0"):
        tokens.read_credentials(b"HDTS\1")


@given(TOKENS)
def test_a_token_is_read_as_it_was_written(token: Token) -> None:
    assert tokens.read_token(tokens.write_token(token)) == token


def test_a_password_is_the_hmac_of_the_identifier() -> None:
    identifier = AMRMTokenIdentifierProto(keyId=-7)
    identifier.appAttemptId.attemptId = 1
    token = tokens.signed(tokens.AMRM_TOKEN, identifier, b"12345678")
    assert token.identifier == identifier.SerializeToString()
    assert token.password == hmac.new(b"12345678", token.identifier, hashlib.sha1).digest()
    assert tokens.token_of(token.message()) == token
