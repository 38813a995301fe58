"""The properties of the ResourceManager's web interface (yarn-site.xml, core-site.xml)."""

from collections.abc import Mapping

import msgspec

from fairshare.documents.problems import Problems
from fairshare.settings.site import Site

CLUSTER_ID = "yarn.resourcemanager.cluster-id"
SUBMISSIONS = "yarn.webapp.enable-rest-app-submissions"
FILTER_BY_USER = "yarn.webapp.filter-entity-list-by-user"
STATIC_USER = "hadoop.http.staticuser.user"
ANONYMOUS = "hadoop.http.authentication.simple.anonymous.allowed"
VALIDITY = "hadoop.http.authentication.token.validity"
INITIALIZERS = "hadoop.http.filter.initializers"
CROSS_ORIGIN = "yarn.resourcemanager.webapp.cross-origin.enabled"
_CORS = "hadoop.http.cross-origin."
_PROXY = "hadoop.proxyuser."
_AUTHENTICATION = "AuthenticationFilterInitializer"
_CORS_FILTER = "HttpCrossOriginFilterInitializer"


class CrossOriginSettings(msgspec.Struct, frozen=True):
    """Which pages of other sites may talk to the server, and how; in force if `enabled`.

    An origin is `*`, a text with `*` in it, or `regex:` and a regular expression.
    """

    enabled: bool = False
    origins: tuple[str, ...] = ("*",)
    methods: tuple[str, ...] = ("GET", "POST", "HEAD")
    headers: tuple[str, ...] = ("X-Requested-With", "Content-Type", "Accept", "Origin")
    max_age_s: str = "1800"


class WebSettings(msgspec.Struct, frozen=True):
    """How YARN's REST interface knows its callers, and what it lets them do.

    `named_users`: `user.name` counts. `proxies` are the users that act for others: their lists
    of hosts, groups and users, each as it is written.
    """

    cluster_id: str = ""
    submissions: bool = True
    filter_by_user: bool = False
    static_user: str = "dr.who"
    anonymous: bool = True
    named_users: bool = True
    validity_s: int = 36_000
    cross_origin: CrossOriginSettings = CrossOriginSettings()
    proxies: Mapping[str, dict[str, str]] = {}


def read_web(site: Site, problems: Problems) -> WebSettings:
    """Read them, with Hadoop's defaults."""
    initializers = site.string(INITIALIZERS, "", problems)
    return WebSettings(
        cluster_id=site.string(CLUSTER_ID, "", problems),
        submissions=site.boolean(SUBMISSIONS, True, problems),
        filter_by_user=site.boolean(FILTER_BY_USER, False, problems),
        static_user=site.string(STATIC_USER, "dr.who", problems),
        anonymous=site.boolean(ANONYMOUS, True, problems),
        named_users=not initializers or _AUTHENTICATION in initializers,
        validity_s=site.integer(VALIDITY, 36_000, problems, minimum=1),
        cross_origin=_cross_origin(site, problems, initializers),
        proxies=_proxies(site, problems),
    )


def _cross_origin(site: Site, problems: Problems, initializers: str) -> CrossOriginSettings:
    """As in Hadoop it takes both: the filter among the initializers, and the switch."""
    default = CrossOriginSettings()
    return CrossOriginSettings(
        enabled=_CORS_FILTER in initializers and site.boolean(CROSS_ORIGIN, False, problems),
        origins=_words(site, problems, "allowed-origins", default.origins),
        methods=_words(site, problems, "allowed-methods", default.methods),
        headers=_words(site, problems, "allowed-headers", default.headers),
        max_age_s=site.string(_CORS + "max-age", default.max_age_s, problems),
    )


def _words(site: Site, problems: Problems, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    text = site.string(_CORS + name, ",".join(default), problems)
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _proxies(site: Site, problems: Problems) -> dict[str, dict[str, str]]:
    proxies: dict[str, dict[str, str]] = {}
    for name in site.names(_PROXY):
        user, _, what = name.removeprefix(_PROXY).rpartition(".")
        if user and what in ("hosts", "groups", "users"):
            proxies.setdefault(user, {})[what] = site.string(name, "", problems)
    return proxies
