"""When Ray cannot be used, one sentence says why and what to do."""

import pytest

from fairshare.ray.troubles import no_answer, no_connection, not_sent

MISMATCH = """Version mismatch: The cluster was started with:
    Ray: 2.50.0
    Python: 3.12.1
This process on node 10.0.0.1 was started with:
    Ray: 2.60.0
    Python: 3.11.4
"""
LOGGED = "W gcs_client.cc:210: Unauthenticated: RPC error: InvalidAuthToken: Authentication token"


class AuthenticationError(Exception):
    """As Ray names it."""


class ObjectStoreFullError(Exception):
    """As Ray names it."""


@pytest.mark.parametrize(
    ("error", "logged", "words"),
    [
        (ConnectionError("Failed to connect"), LOGGED, "refuses the server's token: give"),
        (
            AuthenticationError("RAY_AUTH_TOKEN_PATH is set but file is empty: /none. Ensure that"),
            "",
            "there is no token for the Ray cluster at h:1 (RAY_AUTH_TOKEN_PATH is set but file is "
            "empty: /none): give",
        ),
        (
            RuntimeError(MISMATCH),
            "",
            "has Ray 2.50.0 and Python 3.12.1, and the server Ray 2.60.0 and Python 3.11.4: install"
            " the same versions",
        ),
        (
            ConnectionRefusedError(111, "Connection refused"),
            "",
            "no Ray cluster answers at h:1 (Connection refused): start its head",
        ),
        (ValueError("odd\nand more"), "", "(odd): start its head there, or correct address in"),
    ],
)
def test_a_connection_that_fails(error, logged, words):
    said = no_connection("h:1", error, logged)
    assert words in said
    assert "\n" not in said


def test_an_order_that_ray_does_not_take():
    assert "object store is full" in not_sent(ObjectStoreFullError("Failed to put\nlong"))
    assert not_sent(RuntimeError("odd\nlong")) == "Ray did not take the order: odd"


def test_a_head_that_does_not_answer_any_more():
    said = no_answer(RuntimeError("GCS is away\nstack"))
    assert said.startswith("the head of the Ray cluster does not answer (GCS is away): containers")
    assert "\n" not in said
