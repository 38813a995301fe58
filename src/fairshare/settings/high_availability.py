"""Which of several ResourceManagers this server is: `yarn.resourcemanager.ha.id`, or the one whose
address is of this machine (Hadoop: HAUtil, RMHAUtils)."""

import contextlib
import socket
from typing import Final

from fairshare.documents.problems import Problems
from fairshare.settings.site import Site

_RM: Final = "yarn.resourcemanager."
ENABLED: Final = f"{_RM}ha.enabled"
OWN: Final = f"{_RM}ha.id"
ALL: Final = f"{_RM}ha.rm-ids"


def own_identifier(site: Site, problems: Problems) -> str:
    """The identifier with which the names of this server's addresses end; empty: there is only one
    ResourceManager. Reports an error if it cannot be found."""
    if not site.boolean(ENABLED, False, problems):
        return ""
    identifiers = site.strings(ALL, problems)
    identifier, hint = site.string(OWN, "", problems), ""
    if not identifier:
        here = [one for one in identifiers if is_of_this_machine(_host_of(site, one, problems))]
        identifier = here[0] if len(here) == 1 else ""
        hint = f"; the addresses of {', '.join(here) or 'none of them'} are of this machine"
    if identifier not in identifiers:
        message = (
            f"{ENABLED} is true: set {OWN} to the one of {ALL}"
            f" ({', '.join(identifiers) or 'none'}) that this server is{hint}"
        )
        problems.error(site.place(OWN, ENABLED), "address", message, "does not start")
    return identifier


def _host_of(site: Site, identifier: str, problems: Problems) -> str:
    """The host of one of several ResourceManagers."""
    written = site.string(f"{_RM}address.{identifier}", "", problems)
    return written.rpartition(":")[0] or site.string(f"{_RM}hostname.{identifier}", "", problems)


def is_of_this_machine(host: str) -> bool:
    """Whether a host's address is one of this machine's."""
    if not host:
        return False
    try:
        addresses = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        return False
    for family, kind, protocol, _, address in addresses:
        with socket.socket(family, kind, protocol) as probe, contextlib.suppress(OSError):
            probe.bind(address)  # possible at an address of this machine only
            return True
    return False
