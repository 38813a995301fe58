"""The socket: on users need no proof of who they are, with clear words when it cannot be had."""

import socket

import msgspec
import pytest

from fairshare.errors import ConfigurationError, FairshareError
from fairshare.server.web import listener
from fairshare.server.web.listener import (
    bind,
    check_exposure,
    loopback_address,
    port_of,
    url_of,
    warn_of_exposure,
)
from fairshare.settings.shell import AuthenticationSettings, HadoopSettings


def test_a_free_port_is_found_and_its_url_returned():
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert url_of(listener) == f"http://127.0.0.1:{port}"
        with socket.create_connection(("127.0.0.1", port), timeout=60):
            pass


def test_of_free_ports_the_one_of_last_time_is_preferred():
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    with bind("127.0.0.1", 0, port) as listener:
        assert listener.getsockname()[1] == port
        with bind("127.0.0.1", 0, port) as other:
            assert other.getsockname()[1] != port


def test_a_named_port_counts_more_than_that_of_last_time():
    with bind("127.0.0.1", 0) as first, bind("127.0.0.1", 0) as second:
        last, wanted = first.getsockname()[1], second.getsockname()[1]
    with bind("127.0.0.1", wanted, last) as listener:
        assert listener.getsockname()[1] == wanted


def test_a_port_in_use_is_reported():
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(FairshareError, match=rf"port {port} of 127\.0\.0\.1 is in use"):
            bind("127.0.0.1", port)


def test_answers_are_sent_without_waiting_for_acknowledgements():
    # asyncio sets TCP_NODELAY only on sockets that name their protocol.
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    ("host", "address"),
    [("localhost", "127.0.0.1"), ("127.0.0.9", "127.0.0.9"), ("::1", "::1"), ("[::1]", "::1")],
)
def test_this_machine_has_several_addresses(host, address):
    assert loopback_address(host) == address


@pytest.mark.parametrize("host", ["example.org", ""])
def test_an_invalid_address_is_reported_as_such(host):
    with pytest.raises(ConfigurationError, match="is not an IP address"):
        loopback_address(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3"])
def test_all_other_addresses_are_refused(host):
    with pytest.raises(ConfigurationError, match="users need no proof of who they are"):
        loopback_address(host)


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://127.0.0.1:80", 80), (None, None), ("", None), ("http://x:99999", None)],
)
def test_the_port_of_a_url_that_was_written_down(url, port):
    assert port_of(url) == port


def exposed(settings, host, **more):
    return msgspec.structs.replace(
        settings, host=host, authentication=AuthenticationSettings(tokens=True, **more)
    )


def test_listening_to_the_network_without_tls_is_warned_of(server_settings, caplog):
    warn_of_exposure(exposed(server_settings, "0.0.0.0"))
    assert "without TLS" in caplog.text
    assert "[server]" in caplog.text


def test_with_tls_or_behind_a_proxy_or_on_loopback_nothing_is_said(server_settings, caplog):
    warn_of_exposure(exposed(server_settings, "127.0.0.1"))
    warn_of_exposure(exposed(server_settings, "0.0.0.0", proxies=("10.0.0.1",)))
    secure = exposed(server_settings, "0.0.0.0")
    warn_of_exposure(msgspec.structs.replace(secure, certificate="c", key="k"))
    assert caplog.text == ""


def test_running_under_users_accounts_needs_authentication(server_settings):
    settings = msgspec.structs.replace(server_settings, run_as="user")
    with pytest.raises(ConfigurationError, match=r"needs \[authentication\]"):
        check_exposure(settings)
    check_exposure(exposed(settings, "127.0.0.1"))


def test_a_server_that_would_run_commands_as_root_for_every_account_does_not_start(
    server_settings, monkeypatch
):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(listener, "is_service", lambda name: True)
    socket = msgspec.structs.replace(
        server_settings,
        socket="/run/fairshare.sock",
        authentication=AuthenticationSettings(socket=True),
    )
    hadoop = msgspec.structs.replace(
        exposed(server_settings, "127.0.0.1"), hadoop=HadoopSettings(enabled="yes")
    )
    on_ray = msgspec.structs.replace(server_settings, engine="ray")
    passwords = msgspec.structs.replace(
        server_settings, authentication=AuthenticationSettings(pam_service="login")
    )
    for settings in (server_settings, socket, hadoop, on_ray, passwords):
        with pytest.raises(ConfigurationError, match="every account of this machine could run"):
            check_exposure(settings)
        check_exposure(msgspec.structs.replace(settings, trust_local_users=True))
        if not settings.authentication.required:
            monkeypatch.setattr("os.geteuid", lambda: 1)
            check_exposure(settings)
            monkeypatch.setattr("os.geteuid", lambda: 0)


def test_a_server_of_root_starts_where_not_every_account_is_given_its_rights(
    server_settings, monkeypatch
):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    tokens = exposed(server_settings, "127.0.0.1")
    grouped = msgspec.structs.replace(tokens, socket="/run/fairshare.sock", socket_group="root")
    as_users = msgspec.structs.replace(tokens, socket="/run/fairshare.sock", run_as="user")
    elsewhere = msgspec.structs.replace(server_settings, engine="nodemanagers")
    for settings in (tokens, grouped, as_users, elsewhere):
        check_exposure(settings)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"pam_service": "no-such-service"}, "there is no /etc/pam.d/no-such-service"),
        ({"pam_service": "login", "host": "0.0.0.0"}, "as plain text"),
        ({"pam_service": "login", "uid": 1000}, "only a server of root"),
    ],
)
def test_passwords_are_not_taken_where_they_cannot_be_examined_or_would_be_read(
    server_settings, monkeypatch, keys, problem
):
    monkeypatch.setattr("os.geteuid", lambda: keys.get("uid", 0))
    monkeypatch.setattr(listener, "is_service", lambda name: name == "login")
    settings = msgspec.structs.replace(
        server_settings,
        authentication=AuthenticationSettings(pam_service=keys["pam_service"]),
        host=keys.get("host", "127.0.0.1"),
        run_as="user",
    )
    with pytest.raises(ConfigurationError, match=problem):
        check_exposure(settings)
