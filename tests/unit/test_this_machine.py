"""The accounts of this machine, and those that listen at its ports."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from fairshare import this_machine
from fairshare.this_machine import account_named, accounts_behind, accounts_listening

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the tables")

OWN = frozenset({os.geteuid()})


@pytest.mark.parametrize(
    ("listening", "connecting"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "::1"), ("::", "::1")],
)
def test_a_program_that_listens_is_of_an_account(listening, connecting):
    family = socket.AF_INET6 if ":" in listening else socket.AF_INET
    try:
        listener = socket.create_server((listening, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {listening}")
    with listener:
        port = listener.getsockname()[1]
        with socket.create_connection((connecting, port)) as connection:
            assert accounts_behind(connection) == OWN  # it listens
            accepted, _ = listener.accept()
            with accepted:
                listener.close()
                assert accounts_behind(connection) == OWN  # it has accepted
    assert accounts_listening(connecting, port) == frozenset()


def test_a_listener_for_both_families_is_found_from_either():
    with ExitStack() as opened:
        try:
            made = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        except (OSError, ValueError):
            pytest.skip("this machine has not both families")
        listener = opened.enter_context(made)
        connection = socket.create_connection(("127.0.0.1", listener.getsockname()[1]))
        opened.enter_context(connection)
        assert accounts_behind(connection) == OWN
        opened.enter_context(listener.accept()[0])
        assert accounts_behind(connection) == OWN


def tables(monkeypatch, *lines):
    """Have the kernel's table say this."""
    read = this_machine.Path.read_text

    def said(path, *rest, **named):
        if str(path) == "/proc/net/tcp":
            return "\n".join(("  sl  local_address ...", *lines))
        return "head" if str(path) == "/proc/net/tcp6" else read(path, *rest, **named)

    monkeypatch.setattr(this_machine.Path, "read_text", said)


def line(local, remote, state, account, inode):
    return f"   0: {local} {remote} {state} 0:0 00:0 0 {account} 0 {inode} 1 0 100 0 0 10 0"


HERE, CALLER, ANY = "0100007F:1F98", "0100007F:9C40", "00000000:0000"


@pytest.mark.parametrize(
    ("lines", "accounts"),
    [
        ([line(HERE, ANY, "0A", 1002, 7)], {1002}),
        ([line(HERE, ANY, "0A", 1002, 7), line(HERE, CALLER, "01", 0, 0)], {1002}),  # not accepted
        (
            [line(HERE, CALLER, "01", 1002, 8), line(HERE, ANY, "0A", 0, 9)],
            {1002},
        ),  # and then ended
        ([line(HERE, "0100007F:9C41", "01", 1002, 8), line(HERE, ANY, "0A", 0, 9)], {0}),
        ([line(CALLER, HERE, "01", 1001, 8)], set()),  # the caller's own end
        ([line("00000000:1F98", ANY, "0A", 5, 9), line("0200007F:1F98", ANY, "0A", 6, 9)], {5}),
    ],
    ids=["listens", "has not accepted", "has accepted", "another caller", "own end", "elsewhere"],
)
def test_the_one_that_accepted_counts_and_else_those_that_listen(monkeypatch, lines, accounts):
    class Connection:
        getsockname = staticmethod(lambda: ("127.0.0.1", 0x9C40))
        getpeername = staticmethod(lambda: ("127.0.0.1", 0x1F98))

    tables(monkeypatch, *lines)
    if sys.byteorder != "little":
        pytest.skip("the table is that of another byte order")
    assert accounts_behind(Connection()) == accounts


def test_accounts_that_a_user_namespace_does_not_know_are_not_judged(monkeypatch):
    monkeypatch.setattr(this_machine, "_in_user_namespace", lambda: True)
    tables(monkeypatch, line(HERE, ANY, "0A", 65534, 7))
    assert accounts_listening("127.0.0.1", 0x1F98) == frozenset()
    monkeypatch.setattr(this_machine, "_in_user_namespace", lambda: False)
    assert accounts_listening("127.0.0.1", 0x1F98) == {65534}


WITHOUT_FILES = """
import os, sys
from fairshare.errors import AccountsUnavailable
from fairshare.this_machine import account_named, account_numbered
import ctypes, resource

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
for look, known in ((account_named, "an-unknown-account"), (account_numbered, 4_000_000_001)):
    try:
        found = look(known)
        print("known" if found else "unknown")
    except AccountsUnavailable as error:
        print(error.code)
for one in held:
    os.close(one)
print(account_named("an-unknown-account"), account_numbered(4_000_000_001))
print(account_named("root").pw_uid, account_numbered(0).pw_name, account_named("a\\0b"))
"""


def test_an_account_is_not_unknown_while_no_file_can_be_opened_to_look_for_it():
    command = [sys.executable, "-c", WITHOUT_FILES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == [
        *("accounts-unavailable", "accounts-unavailable"),
        *("None None", "0 root None", ""),
    ]


def test_no_account_has_a_name_that_the_encoding_of_the_system_cannot_write(monkeypatch):
    def fsencode(name: str) -> bytes:
        return name.encode("ascii")

    monkeypatch.setattr(this_machine.os, "fsencode", fsencode)
    assert account_named("\xe4nn") is None
