"""The identification of callers by the credentials of a call.

Four kinds are accepted: a user's token (of those that users make also where an administrator's are
off), the token of a driver's environment, the account behind a
connection of the Unix socket, and the header of a configured proxy.
"""

from collections.abc import Callable, Collection, Mapping

from fairshare.core.model.applications import Application
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.protocol import State
from fairshare.server.access.peers import PREFIX as PEER
from fairshare.server.access.peers import Peers
from fairshare.server.access.proxies import Proxies
from fairshare.server.access.sign_in import Attempts, Codes
from fairshare.server.access.tokens import (
    PREFIX,
    DriverTokens,
    Identity,
    UserTokens,
    named_application,
)
from fairshare.settings.shell import AuthenticationSettings


class Authentication:
    """The authentication of one server. `required`: callers must authenticate."""

    def __init__(
        self,
        settings: AuthenticationSettings,
        users: UserTokens,
        drivers: DriverTokens,
        state: Callable[[], State],
        now_ms: Callable[[], int],
    ) -> None:
        self.required = settings.required
        self._settings = settings
        self.users = users
        self._drivers = drivers
        self._state = state
        self._now_ms = now_ms
        self.peers = Peers()
        self.proxies = Proxies(settings.proxies)
        self.codes = Codes()
        self.attempts = Attempts()

    @property
    def headers(self) -> tuple[str, ...]:
        """The headers that carry credentials, in lower case."""
        return ("authorization", self._settings.proxy_header.lower())

    def identify(self, headers: Mapping[str, str], peer: str) -> Identity | None:
        """The caller on a connection from `peer`; None if it is not authenticated."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() == "bearer" and token:
            if token.startswith(PREFIX):
                own, others = self._settings.account_tokens > 0, self._settings.tokens
                return self.users.identify(token, self._now_ms(), own=own, others=others)
            return self._driver(token)
        if peer.startswith(PEER):
            return self.peers.identify(peer)
        if self.proxies.name(peer):
            user = headers.get(self._settings.proxy_header.lower(), "").strip()
            if user:
                return Identity(user, proof=f"proxy {peer}")
        return None

    def _driver(self, token: str) -> Identity | None:
        """The identity of a token that belongs to the present attempt of some application.

        It takes the same time however many drivers there are.
        """
        number = named_application(token)
        application = None if number is None else self._state().applications.get(number)
        if application is None or application.over or application.submission.driver is None:
            return None
        if not self._drivers.accepts(token, application.id, application.attempt.number):
            return None
        return Identity(application.user, proof="driver", application=application.id)


def listed(acl: str | None, user: str, groups: Collection[str]) -> bool:
    """Whether a list in Hadoop's form, `user1,user2 group1,group2`, names a user or one of the
    user's groups.

    >>> listed("alice ops", "bob", ("ops",)), listed(" ", "bob", ()), listed(None, "bob", ())
    (True, False, False)
    """
    return acl is not None and allows(acl, user, groups)


def may_look(application: Application, user: str, groups: Collection[str]) -> bool:
    """Whether an application's own list lets a user view all of it."""
    return listed(application.brief.view_acl, user, groups)


def may_change(application: Application, user: str, groups: Collection[str]) -> bool:
    """Whether an application's own list lets a user kill, move and change it."""
    return listed(application.submission.details.modify_acl, user, groups)
