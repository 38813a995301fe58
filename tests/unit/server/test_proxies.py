"""From where a call comes is what named proxies saw, never what a caller wrote."""

import pytest

from fairshare.server.access.proxies import Proxies

NAMED = Proxies(["10.0.0.0/8", "2001:db8::/64"])


@pytest.mark.parametrize(
    ("peer", "reported", "origin"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["10.0.0.7"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["198.51.100.1, 192.0.2.7, 10.0.0.2"], "192.0.2.7"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["192.0.2.7, unknown"], "10.0.0.1"),
        ("10.0.0.1", ["", " "], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.7:4711"], "192.0.2.7"),
        ("10.0.0.1", ["[2001:db8:1::9]:4711"], "2001:db8:1::9"),
        ("::ffff:10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("2001:db8::1", ["192.0.2.7"], "192.0.2.7"),
        ("", ["192.0.2.7"], ""),
    ],
)
def test_the_last_address_that_no_named_proxy_has_counts(peer, reported, origin):
    assert NAMED.origin(peer, reported) == origin


def test_without_named_proxies_nothing_is_believed():
    assert not Proxies()
    assert not Proxies().name("127.0.0.1")
    assert Proxies().origin("127.0.0.1", ["192.0.2.7"]) == "127.0.0.1"
