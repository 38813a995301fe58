import getpass
import os
import socket

import httpx
import pytest

from fairshare.client import Client, ServerUnreachable, discovery
from fairshare.client.discovery import (
    find_token,
    find_url,
    is_loopback,
    own_user,
    state_directory,
    token_file,
)
from fairshare.client.errors import TokenUnusable


def test_the_variable_names_the_server(tmp_path):
    (tmp_path / "url").write_text("http://127.0.0.1:1\n")
    environment = {"FAIRSHARE_URL": "https://cluster:8188/", "FAIRSHARE_STATE": str(tmp_path)}
    assert find_url(environment) == "https://cluster:8188"


def test_without_it_the_state_directory_does(tmp_path):
    (tmp_path / "url").write_text("http://127.0.0.1:1\n")
    assert find_url({"FAIRSHARE_STATE": str(tmp_path)}) == "http://127.0.0.1:1"


def test_the_state_directory_is_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_directory({}) == tmp_path / ".local" / "state" / "fairshare"
    assert state_directory({"FAIRSHARE_STATE": "~/x"}) == tmp_path / "x"


@pytest.fixture
def socket_path(tmp_path):
    path = tmp_path / "fairshare.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        yield path


def test_a_unix_socket_is_preferred_if_it_is_there(tmp_path, socket_path):
    (tmp_path / "url").write_text("http://127.0.0.1:1\n")
    (tmp_path / "socket").write_text(f"{socket_path}\n")
    environment = {"FAIRSHARE_STATE": str(tmp_path)}
    assert find_url(environment) == f"unix:{socket_path}"
    socket_path.unlink()
    assert find_url(environment) == "http://127.0.0.1:1"
    assert find_url({"FAIRSHARE_URL": "unix:/a/b", **environment}) == "unix:/a/b"
    with pytest.raises(ServerUnreachable, match="write unix:/PATH"):
        find_url({"FAIRSHARE_URL": "unix:a/b"})


def test_without_a_server_of_ones_own_it_is_that_of_the_machine(tmp_path, socket_path, monkeypatch):
    monkeypatch.setattr(discovery, "SOCKET", socket_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_url({}) == f"unix:{socket_path}"
    with pytest.raises(ServerUnreachable):
        find_url({"FAIRSHARE_STATE": str(tmp_path)})
    monkeypatch.setattr(discovery.os, "geteuid", lambda: 1234)
    if socket_path.stat().st_uid != 0:  # another user's would see who calls
        with pytest.raises(ServerUnreachable):
            find_url({})


def test_the_kernel_names_the_user_of_a_unix_socket(monkeypatch):
    monkeypatch.delenv("FAIRSHARE_USER", raising=False)
    monkeypatch.delenv("FAIRSHARE_TOKEN", raising=False)
    assert discovery.Server("unix:/a/b", None).user() is None
    monkeypatch.setenv("FAIRSHARE_USER", "bob")
    assert discovery.Server("unix:/a/b", None).user() == "bob"


def test_without_any_server_the_message_says_what_to_do(tmp_path):
    with pytest.raises(ServerUnreachable) as caught:
        find_url({"FAIRSHARE_STATE": str(tmp_path)})
    assert str(caught.value) == (
        f"no server is known ({tmp_path}/url does not exist):"
        " start one with `fairshare serve --conf DIR`, or set FAIRSHARE_URL"
    )
    assert caught.value.url is None


def test_an_address_that_cannot_be_read_says_why(tmp_path):
    (tmp_path / "url").mkdir()
    with pytest.raises(ServerUnreachable, match="url Is a directory"):
        find_url({"FAIRSHARE_STATE": str(tmp_path)})


@pytest.mark.parametrize(
    "text",
    ["", "cluster:8188", "localhost", "ftp://cluster", "http://", "http://x:y", "http://x:0"],
)
def test_an_invalid_address_is_reported_with_its_file(tmp_path, text):
    (tmp_path / "url").write_text(text)
    with pytest.raises(ServerUnreachable, match=r"url says .*: write http://HOST:PORT"):
        find_url({"FAIRSHARE_STATE": str(tmp_path)})


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:1", True),
        ("http://localhost:1", True),
        ("http://[::1]:1", True),
        ("http://10.0.0.1:1", False),
        ("http://cluster", False),
    ],
)
def test_this_machine_is_known_by_its_names(url, loopback):
    assert is_loopback(url) is loopback


def test_no_proxy_is_asked_for_this_machine(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    mounts = []
    monkeypatch.setattr(
        httpx.Client, "_init_proxy_transport", lambda *a, **k: mounts.append(a) or None
    )
    with Client("http://127.0.0.1:1"):
        assert mounts == []


def test_the_token_of_the_environment_is_sent(script, transport, monkeypatch):
    monkeypatch.setenv("FAIRSHARE_TOKEN", "secret")
    with Client("http://127.0.0.1:1", transport=transport) as client:
        client.changes()
    with Client("http://127.0.0.1:1", token="other", transport=transport) as client:
        client.changes()
    sent = [headers["Authorization"] for headers in script.headers]
    assert sent == ["Bearer secret", "Bearer other"]


def test_a_container_acts_for_the_user_of_its_application(monkeypatch):
    assert own_user({"FAIRSHARE_USER": "ann"}) == "ann"
    assert own_user({}) == getpass.getuser()

    def nobody():
        raise KeyError("no name")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert own_user({}) is None


def write_token(tmp_path, text="fst_00000000_abc\n", mode=0o600):
    file = tmp_path / "fairshare" / "token"
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(mode)
    return file


def test_a_token_is_found_in_the_file_of_the_user(tmp_path):
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert find_token(environment) is None
    write_token(tmp_path)
    assert find_token(environment) == "fst_00000000_abc"
    assert find_token({**environment, "FAIRSHARE_TOKEN": "other"}) == "other"


def test_the_file_of_the_token_is_in_the_home_directory_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for environment in ({}, {"XDG_CONFIG_HOME": ""}, {"XDG_CONFIG_HOME": "relative"}):
        assert token_file(environment) == tmp_path / ".config" / "fairshare" / "token"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_token_that_others_can_read_or_change_is_refused(tmp_path, mode):
    file = write_token(tmp_path, mode=mode)
    with pytest.raises(TokenUnusable, match=f"chmod 600 {file}"):
        find_token({"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.parametrize("text", ["", "\n", "two words", "x" * 5000, "ümlaut"])
def test_a_file_without_a_token_is_reported(tmp_path, text):
    write_token(tmp_path, text)
    with pytest.raises(TokenUnusable, match="holds no token"):
        find_token({"XDG_CONFIG_HOME": str(tmp_path)})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_of_another_user_is_refused(tmp_path):
    os.chown(write_token(tmp_path), 65534, 65534)
    with pytest.raises(TokenUnusable, match="belongs to another user"):
        find_token({"XDG_CONFIG_HOME": str(tmp_path)})
