"""Accounts that make tokens for themselves: on the socket, by an address and by a password."""

import asyncio
import threading

import httpx
import msgspec
import pytest

from fairshare.server.access import sign_in
from fairshare.server.access.peers import address_of_peer
from fairshare.server.access.sign_in import ATTEMPTS, CODES_PER_USER, Codes
from fairshare.server.access.tokens import Identity
from fairshare.server.server import LiveServer
from fairshare.server.web import sign_in as paths
from fairshare.server.web.app import build_app
from fairshare.settings.shell import AuthenticationSettings

pytestmark = pytest.mark.anyio
ROOT = address_of_peer(0)


class House:
    """A server, and callers at addresses."""

    def __init__(self, server):
        self.server = server
        self.app = build_app(server)

    async def ask(self, path, body=None, *, address="127.0.0.1", token=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx.ASGITransport(self.app, client=(address, 5))
        base = self.server.url + "/api/v1"
        async with httpx.AsyncClient(transport=transport, base_url=base, headers=headers) as http:
            return await (http.get(path) if body is None else http.post(path, json=body))

    async def user_of(self, token):
        answer = await self.ask("/session", token=token)
        return answer.json()["user"] if answer.status_code == 200 else None


async def served(server_settings, engine, **keys):
    settings = msgspec.structs.replace(
        server_settings, authentication=AuthenticationSettings(**keys), socket="/run/not-there"
    )
    server = LiveServer(settings, lambda settings, path: engine)
    await server.start("http://127.0.0.1:8088")
    return House(server)


@pytest.fixture
async def house(server_settings, engine, anyio_backend):
    house = await served(
        server_settings, engine, socket=True, pam_service="login", account_tokens=3
    )
    yield house
    await house.server.close()


@pytest.fixture
def passwords(monkeypatch):
    """What PAM would say: ann's password is `right`."""
    asked = []

    def account_of_password(service, user, password, address):
        asked.append((service, user, address))
        return user if password == "right" else None

    monkeypatch.setattr(paths, "account_of_password", account_of_password)
    return asked


async def test_an_account_makes_a_token_on_the_socket_and_uses_it_elsewhere(house):
    answer = await house.ask("/session/token", {}, address=ROOT)
    assert answer.status_code == 201, answer.text
    assert answer.json()["user"] == "root"
    assert await house.user_of(answer.json()["token"]) == "root"


async def test_a_token_makes_no_other_token(house):
    token = (await house.ask("/session/token", {}, address=ROOT)).json()["token"]
    for address in ("127.0.0.1", ROOT):
        for path in ("/session/token", "/session/code"):
            answer = await house.ask(path, {}, address=address, token=token)
            assert (answer.status_code, answer.json()["code"]) == (403, "not-on-the-socket")


async def test_the_tokens_of_an_account_end_and_are_bounded_in_number(house):
    made = [
        (await house.ask("/session/token", {"lifetime_ms": 10**15}, address=ROOT)).json()
        for _ in range(4)
    ]
    assert [await house.user_of(one["token"]) for one in made] == [None, "root", "root", "root"]
    now_ms = house.server.service.now_ms()
    assert all(now_ms < one["expires_ms"] <= now_ms + 30 * 86_400_000 for one in made)
    stored = house.server.authentication.users.listed()
    assert [(token.own, token.note) for token in stored] == [(True, "by fairshare login")] * 3


async def test_an_administrators_token_stays_when_users_make_theirs_and_counts_only_if_on(house):
    users = house.server.authentication.users
    given = users.create("root", 0)
    for _ in range(4):
        await house.ask("/session/token", {}, address=ROOT)
    assert len([token for token in users.listed() if not token.own]) == 1
    assert await house.user_of(given) is None, "tokens = false"


async def test_only_an_administrator_makes_a_token_for_another_account(house):
    answer = await house.ask("/session/token", {"user": "ann"}, address=ROOT)
    token = answer.json()["token"]
    session = (await house.ask("/session", token=token)).json()
    assert (session["user"], session["administrator"]) == ("ann", False)


async def test_an_address_of_open_signs_in_once(house):
    made = (await house.ask("/session/code", {}, address=ROOT)).json()
    assert made["url"] == "http://127.0.0.1:8088"
    first = await house.ask("/sign-in", {"code": made["code"]})
    again = await house.ask("/sign-in", {"code": made["code"]})
    assert await house.user_of(first.json()["token"]) == "root"
    assert (again.status_code, again.json()["code"]) == (403, "wrong-code")


def test_codes_are_bounded_for_each_user_and_end(monkeypatch):
    codes, ann, bob = Codes(), Identity("ann"), Identity("bob")
    of_bob = codes.issue(bob)
    of_ann = [codes.issue(ann) for _ in range(CODES_PER_USER + 1)]
    assert [codes.redeem(code) for code in of_ann] == [None] + [ann] * CODES_PER_USER
    late = codes.issue(ann)
    now_s = sign_in.time.monotonic()
    monkeypatch.setattr(sign_in.time, "monotonic", lambda: now_s + sign_in.CODE_S)
    assert codes.redeem(late) is None
    assert codes.redeem(of_bob) is None


async def test_neither_code_nor_token_nor_password_is_in_a_log(house, passwords, caplog):
    code = (await house.ask("/session/code", {}, address=ROOT)).json()["code"]
    token = (await house.ask("/sign-in", {"code": code})).json()["token"]
    await house.ask("/sign-in", {"user": "ann", "password": "secret-word"})
    audit = (house.server.directory.path / "audit.log").read_text()
    assert '"path":"/api/v1/sign-in"' in audit
    assert '"user":"root"' in audit
    for secret in (code, token, "secret-word"):
        assert secret not in audit + caplog.text


async def test_an_account_signs_in_with_its_password(house, passwords):
    answer = await house.ask("/sign-in", {"user": "ann", "password": "right"})
    assert await house.user_of(answer.json()["token"]) == "ann"
    wrong = await house.ask("/sign-in", {"user": "ann", "password": "wrong"})
    assert (wrong.status_code, wrong.json()["code"]) == (403, "wrong-password")
    assert passwords == [("login", "ann", "127.0.0.1")] * 2


async def test_guesses_are_bounded_for_an_account_and_for_an_address(house, passwords):
    for number in range(ATTEMPTS):
        await house.ask(
            "/sign-in", {"user": "ann", "password": "wrong"}, address=f"10.0.0.{number}"
        )
    right = {"user": "ann", "password": "right"}
    answer = await house.ask("/sign-in", right, address="10.0.0.99")
    assert (answer.status_code, answer.json()["code"]) == (429, "too-many-attempts")
    assert 0 < int(answer.headers["Retry-After"]) <= sign_in.WINDOW_S
    for number in range(ATTEMPTS):
        await house.ask("/sign-in", {"user": f"u{number}", "password": "wrong"}, address="10.0.1.1")
    bob = {"user": "bob", "password": "right"}
    assert (await house.ask("/sign-in", bob, address="10.0.1.1")).status_code == 429
    assert (await house.ask("/sign-in", bob, address="10.0.1.2")).status_code == 201
    assert len(passwords) == 2 * ATTEMPTS + 1


async def test_guesses_of_this_machines_accounts_count_together(house, passwords):
    for number in range(ATTEMPTS):
        guess = {"user": f"u{number}", "password": "wrong"}
        await house.ask("/sign-in", guess, address=f"127.0.{number}.1")
    bob = {"user": "bob", "password": "right"}
    assert (await house.ask("/sign-in", bob, address="127.9.9.9")).status_code == 429
    assert (await house.ask("/sign-in", bob, address="::ffff:10.0.1.2")).status_code == 201


async def test_without_own_tokens_none_is_made_or_taken(server_settings, engine, passwords):
    house = await served(
        server_settings, engine, socket=True, tokens=True, pam_service="login", account_tokens=0
    )
    users = house.server.authentication.users
    earlier = users.create("ann", house.server.service.now_ms(), own_most=3)
    answer = await house.ask("/sign-in", {"user": "ann", "password": "right"})
    assert (answer.json()["code"], passwords) == ("no-own-tokens", [])
    assert len(users.listed()) == 1
    assert await house.user_of(earlier) is None, "made while accounts might make some"
    await house.server.close()


async def test_only_some_passwords_wait_for_their_turn(house, monkeypatch):
    go = threading.Event()
    monkeypatch.setattr(paths, "account_of_password", lambda *_: go.wait(10) and None)
    monkeypatch.setattr(paths, "MOST_WAITING", 1)

    def attempt(number):
        body = {"user": f"u{number}", "password": "wrong"}
        return house.ask("/sign-in", body, address=f"10.0.0.{number}")

    tried = [asyncio.create_task(attempt(number)) for number in range(3)]
    async with asyncio.timeout(10):
        while not house.app.state.password_turns.waiting:
            await asyncio.sleep(0.01)
    refused = await attempt(9)
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    go.set()
    assert [answer.status_code for answer in await asyncio.gather(*tried)] == [403] * 3


async def test_right_passwords_do_not_count_as_guesses(house, passwords):
    for _ in range(ATTEMPTS + 2):
        answer = await house.ask("/sign-in", {"user": "ann", "password": "right"})
        assert answer.status_code == 201


async def test_the_password_of_root_is_not_examined():
    assert sign_in.account_of_password("login", "root", "anything", "") is None


@pytest.mark.parametrize(
    ("keys", "ways"),
    [
        ({"socket": True}, (False, False, True)),
        ({"tokens": True, "account_tokens": 0}, (True, False, False)),
        ({"pam_service": "login"}, (False, True, True)),
    ],
)
async def test_a_page_learns_what_it_can_sign_in_with(
    server_settings, engine, anyio_backend, keys, ways
):
    house = await served(server_settings, engine, **keys)
    answer = (await house.ask("/sign-in")).json()
    assert (answer["tokens"], answer["passwords"], answer["addresses"]) == ways
    if "account_tokens" in keys:
        refused = await house.ask("/session/token", {}, address=ROOT)
        assert refused.json()["code"] == "no-own-tokens"
    if "pam_service" not in keys:
        refused = await house.ask("/sign-in", {"user": "ann", "password": "right"})
        assert refused.json()["code"] == "no-passwords"
    await house.server.close()
