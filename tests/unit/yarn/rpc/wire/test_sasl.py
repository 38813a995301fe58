"""Logins with DIGEST-MD5: who holds the token gets in, nobody else."""

import contextlib
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.yarn.rpc.wire import sasl
from fairshare.yarn.rpc.wire.sasl import ClientLogin, ServerLogin, WrongLogin

IDENTIFIER = b"\x0a\x07token\x00\xff"
PASSWORD = b"\x01secret\xfe"


def password_of(identifier: bytes) -> bytes | None:
    return PASSWORD if identifier == IDENTIFIER else None


def log_in(client: ClientLogin, change: Callable[[bytes], bytes] = lambda answer: answer) -> bytes:
    server = ServerLogin()
    identifier, proof = server.accept(change(client.answer(server.challenge())), password_of)
    client.verify(proof)
    return identifier


def test_client_and_server_that_know_the_password_agree() -> None:
    assert log_in(ClientLogin(IDENTIFIER, PASSWORD)) == IDENTIFIER


@pytest.mark.parametrize(
    ("identifier", "password"), [(IDENTIFIER, b"another"), (b"another", PASSWORD), (b"", b"")]
)
def test_another_token_or_password_is_refused(identifier: bytes, password: bytes) -> None:
    with pytest.raises(WrongLogin):
        log_in(ClientLogin(identifier, password))


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (rb'nonce="[^"]*"', b'nonce="another"'),
        (rb"nc=00000001", b"nc=00000002"),
        (rb"qop=auth", b"qop=auth-conf"),
        (rb'digest-uri="/default"', b'digest-uri="/other"'),
        (rb'realm="default"', b'realm="other"'),
        (rb"response=[0-9a-f]*", b"response="),
        (rb'username="', b'username="!'),
        (rb"charset=utf-8", b'charset="utf-8'),
        (rb"charset=utf-8", b"qop=auth"),
    ],
)
def test_an_answer_that_was_changed_is_refused(pattern: bytes, replacement: bytes) -> None:
    with pytest.raises(WrongLogin):
        log_in(
            ClientLogin(IDENTIFIER, PASSWORD), lambda answer: re.sub(pattern, replacement, answer)
        )


def test_an_answer_cannot_be_used_a_second_time() -> None:
    first, second = ServerLogin(), ServerLogin()
    answer = ClientLogin(IDENTIFIER, PASSWORD).answer(first.challenge())
    first.accept(answer, password_of)
    with pytest.raises(WrongLogin, match="nonce"):
        second.accept(answer, password_of)


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    client = ClientLogin(IDENTIFIER, PASSWORD)
    client.answer(ServerLogin().challenge())
    with pytest.raises(WrongLogin, match="server"):
        client.verify(b"rspauth=00000000000000000000000000000000")


def test_directives_come_in_any_order_and_with_escapes() -> None:
    assert log_in(
        ClientLogin(IDENTIFIER, PASSWORD),
        lambda answer: b"maxbuf=65536 , " + b",".join(reversed(answer.split(b","))),
    )
    assert sasl._directives(rb'realm="a\"b\\c",qop = auth') == {"realm": 'a"b\\c', "qop": "auth"}


def test_the_example_of_rfc_2831_has_its_proofs() -> None:
    nonces = "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk"
    secret = sasl._secret("chris", "secret", *nonces, "elwood.innosoft.com")
    uri = "imap/elwood.innosoft.com"
    client = sasl._proof(secret, *nonces, "AUTHENTICATE", uri)
    assert client == "d388dad90d4bbd760a152321f2143af7"
    assert sasl._proof(secret, *nonces, "", uri) == "ea40f60335c427b5527b84dbabcdfffd"


@given(st.binary(max_size=300))
def test_any_answer_is_refused_without_another_error(answer: bytes) -> None:
    with pytest.raises(WrongLogin):
        ServerLogin().accept(answer, password_of)


@given(st.binary(max_size=300))
def test_any_challenge_is_answered_or_refused(challenge: bytes) -> None:
    with contextlib.suppress(WrongLogin):
        ClientLogin(IDENTIFIER, PASSWORD).answer(challenge)
