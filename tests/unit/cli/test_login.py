"""`fairshare login` and `open`, where the server is not asked, or is a stand-in."""

import json

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare
from fairshare.client.answers import OwnToken, SignInCode, SignInWays


class Server:
    """A client of a server that gives what it is asked for."""

    def __init__(self, url, *, required=True, passwords=True):
        self.url = url
        self.asked = []
        self.ways = SignInWays(required, tokens=True, passwords=passwords, addresses=True)

    def sign_in_ways(self):
        return self.ways

    def __call__(self, _):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def make_token(self, lifetime_ms):
        self.asked.append(lifetime_ms)
        return OwnToken("fst_own", "ann", 1_800_000_000_000)

    def sign_in(self, *words):
        self.asked.append(words)
        return OwnToken("fst_password", "ann", 1_800_000_000_000)

    def make_code(self):
        return SignInCode("http://127.0.0.1:8088", "a-code", 1_800_000_000_000)


def run(server, *words, given="", **environment):
    runner = CliRunner(env={"FAIRSHARE_TOKEN": None, **environment})
    return runner.invoke(fairshare, words, obj=server, input=given)


def test_on_the_socket_a_token_is_printed_alone():
    server = Server("unix:/run/x")
    done = run(server, "login", "--expires", "2h")
    assert done.stdout == "fst_own\n"
    assert "valid for ann until" in done.stderr
    assert server.asked == [7_200_000]


def test_elsewhere_the_password_is_asked_for_and_the_token_kept_for_the_user_alone(tmp_path):
    server = Server("https://cluster:8088")
    words = ("login", "--user", "ann", "--keep")
    done = run(server, *words, given="right horse\n", XDG_CONFIG_HOME=str(tmp_path))
    assert done.exit_code == 0, done.output
    assert server.asked == [("ann", "right horse", None)]
    kept = tmp_path / "fairshare" / "token"
    assert kept.read_text() == "fst_password\n"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "fst_password" not in done.output


@pytest.mark.parametrize(
    ("url", "words", "message"),
    [
        ("http://cluster:8088", ("--user", "ann"), "as plain text: use https"),
        ("unix:/run/x", ("--user", "ann"), "the Unix socket says who you are"),
        ("unix:/run/x", ("--keep",), "verbs need no token"),
    ],
)
def test_a_login_that_would_be_unsafe_or_useless_is_refused(url, words, message):
    server = Server(url)
    done = run(server, "login", *words, given="right horse\n")
    assert done.exit_code != 0
    assert message in done.stderr
    assert server.asked == []


@pytest.mark.parametrize(
    ("ways", "message"),
    [({"required": False}, "asks for no proof"), ({"passwords": False}, "takes no passwords")],
)
def test_a_password_is_asked_for_only_where_the_server_takes_it(ways, message):
    done = run(Server("http://127.0.0.1:1", **ways), "login", given="right horse\n")
    assert done.exit_code == 1
    assert message in done.stderr
    assert "Password" not in done.stderr


def test_an_address_has_its_code_behind_the_part_that_browsers_send():
    done = run(Server("unix:/run/x"), "open", "--json")
    address = json.loads(done.stdout)["address"]
    assert address == "http://127.0.0.1:8088/cluster/scheduler#sign-in=a-code"


def test_a_token_that_hides_the_account_is_named(tmp_path):
    done = run(Server("unix:/run/x"), "open", FAIRSHARE_TOKEN="fst_x")
    assert done.exit_code == 1
    assert "unset it" in done.stderr
