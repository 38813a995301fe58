"""Owns the check of `certificate` and `key` below `[server]`: that they are good for TLS.

It is done when the configuration is read, so that a mistake has a file and a line, and no server
stops in the middle of its start.
"""

import ssl
import stat
from pathlib import Path

from fairshare.documents.located import Node
from fairshare.documents.problems import Place, Problems
from fairshare.settings.shell import ServerSettings
from fairshare.wording import cause

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_certificate(server: ServerSettings, root: Node, problems: Problems) -> None:
    """Report what keeps a server from speaking TLS. The paths are absolute; `root` is the document
    that names them."""

    def place(key: str) -> Place:
        return root.find("server", key)

    certificate, key = server.certificate, server.key
    if certificate is None and key is None:
        return
    if certificate is None or key is None:
        given, missing = ("certificate", "key") if key is None else ("key", "certificate")
        problems.error(
            place(given),
            "tls",
            f"{given} without {missing}: TLS needs both; name the {missing} below [server] too",
        )
        return
    unreadable = False
    for name, path in (("certificate", certificate), ("key", key)):
        reason = _unreadable(path)
        if reason:
            unreadable = True
            problems.error(place(name), "tls", f"{name}: cannot read {path}: {reason}")
    if unreadable:
        return
    if Path(key).stat().st_mode & _OTHERS:
        problems.warning(
            place("key"), "tls", f"{key} can be read by others than its owner: chmod 600 {key}"
        )
    reason = _unusable(certificate, key)
    if reason:
        problems.error(
            place("certificate"),
            "tls",
            f"TLS is not possible with {certificate} and {key}: {reason}",
        )


def _unreadable(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            file.read(1)
    except OSError as error:
        return cause(error)
    return ""


def _unusable(certificate: str, key: str) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # OpenSSL would ask for a password on the terminal, where no user waits.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            return "the key is not that of the certificate"
        return (
            "they are not a certificate and its key in PEM form, or the key has a password"
            f" ({error.reason or error})"
        )
    except (OSError, ValueError) as error:
        return f"the key has a password, which a server cannot type ({cause(error)})"
    return ""
