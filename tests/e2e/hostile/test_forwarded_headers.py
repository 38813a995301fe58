"""Who forwards a call is believed if he is named, and nobody else is."""

import pytest

from .conftest import PROXY


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.3"])
def test_forwarded_headers_of_unlisted_addresses_are_ignored(attacked, address):
    reported = {
        "X-Forwarded-For": PROXY,
        "X-Forwarded-User": "postgres",
        "X-Forwarded-Proto": "https",
    }
    with attacked.client(address=address, **reported) as http:
        answer = http.get("/api/v1/session")
    assert answer.status_code == 401


def test_a_named_proxy_that_reports_addresses_is_believed_and_they_are_in_the_audit_log(attacked):
    reported = {"X-Forwarded-For": "198.51.100.9, 192.0.2.7", "X-Forwarded-User": "ann"}
    with attacked.client(address=PROXY, **reported) as http:
        session = http.get("/api/v1/session").json()
        assert (session["user"], session["proven"]) == ("ann", True)
        refused = http.post("/api/v1/applications/application_1_1/kill", json={})
    assert refused.status_code == 404
    line = attacked.audited(lambda one: one["path"].endswith("application_1_1/kill"))
    assert (line["address"], line["proof"]) == ("192.0.2.7", f"proxy {PROXY}")


def test_a_request_that_names_its_user_twice_is_refused(attacked):
    with attacked.client(address=PROXY) as http:
        headers = [("X-Forwarded-User", "root"), ("X-Forwarded-User", "ann")]
        answer = http.get("/api/v1/session", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")
    assert "more than once" in answer.json()["message"]
