"""The discovery of the ResourceManager's web addresses, from the command line or the files.

In this order: `--url`; `-D` and `--config DIR`; FAIRSHARE_URL; yarn-site.xml in YARN_CONF_DIR or
HADOOP_CONF_DIR; the fairshare server of this user. The relevant properties of yarn-site.xml are
yarn.resourcemanager.webapp.address (with .ID for each of yarn.resourcemanager.ha.rm-ids),
yarn.resourcemanager.hostname, and yarn.http.policy. Does not connect to a server.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from fairshare.client.discovery import TOKEN_VARIABLE, URL_VARIABLE, checked_url, find_url
from fairshare.documents.problems import Problems
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_site

_RM = "yarn.resourcemanager."
_HOST = _RM + "hostname"
_FILES = ("core-site.xml", "yarn-site.xml")
_ANYWHERE = ("0.0.0.0", "::", "[::]")  # noqa: S104 - read, never bound


class Addresses(msgspec.Struct, frozen=True):
    """`urls` are the URLs of the ResourceManagers by id ("" if there is only one).

    `token` is the token to send, None if they are not the fairshare server that issued it.
    """

    urls: dict[str, str]
    token: str | None = None

    @property
    def available(self) -> bool:
        """Whether there are several, one of them active (high availability)."""
        return "" not in self.urls


def find_addresses(
    url: str | None,
    directory: Path | None,
    properties: Mapping[str, str],
    environment: Mapping[str, str],
) -> Addresses:
    """The addresses; raises ServerUnreachable, or ConfigurationError with every problem."""
    token = environment.get(TOKEN_VARIABLE)
    if url:
        return Addresses({"": checked_url(url, "--url")}, token)
    if directory is None and not properties:
        if environment.get(URL_VARIABLE):
            return Addresses({"": find_url(environment)}, token)
        directory = configured_directory(environment)
        if directory is None:
            return Addresses({"": find_url(environment)}, token)
    return Addresses(_of_site(_site(directory, properties, environment)))


def configured_directory(environment: Mapping[str, str]) -> Path | None:
    """The directory of Hadoop's files, if it contains a yarn-site.xml."""
    for variable in ("YARN_CONF_DIR", "HADOOP_CONF_DIR"):
        named = environment.get(variable)
        if named and (Path(named) / "yarn-site.xml").is_file():
            return Path(named)
    return None


def _site(
    directory: Path | None, properties: Mapping[str, str], environment: Mapping[str, str]
) -> Site:
    problems = Problems()
    documents = []
    for name in _FILES if directory is not None else ():
        assert directory is not None
        path = directory / name
        if path.is_file() or name == "yarn-site.xml":
            documents.append((str(path), path.read_bytes()))
    site = read_site(documents, problems, environment, _include)
    problems.raise_errors()
    site = site.with_values(properties, "-D")
    # Addresses may refer to it as a variable, even if it is not set.
    return site if _HOST in site else site.with_values({_HOST: "127.0.0.1"})


def _include(file: str, reference: str) -> tuple[str, bytes]:
    path = Path(file).parent / reference
    return str(path), path.read_bytes()


def _of_site(site: Site) -> dict[str, str]:
    problems = Problems()
    secure = site.string("yarn.http.policy", "HTTP_ONLY", problems).upper() == "HTTPS_ONLY"
    many = site.boolean(_RM + "ha.enabled", False, problems)
    names = site.strings(_RM + "ha.rm-ids", problems) if many else ("",)
    urls = {}
    for name in names:
        end = f".{name}" if name else ""
        host = site.string(f"{_RM}hostname{end}", "127.0.0.1", problems)
        scheme, port = ("https", 8090) if secure else ("http", 8088)
        key = _RM + ("webapp.https.address" if secure else "webapp.address") + end
        written = site.string(key, f"{host}:{port}", problems)
        host, divider, number = written.rpartition(":")
        if not divider:
            host, number = written, str(port)
        host = "127.0.0.1" if host in _ANYWHERE else host
        urls[name] = checked_url(f"{scheme}://{host}:{number}", key)
    problems.raise_errors()
    return urls
