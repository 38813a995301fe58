"""Owns the identity of this machine, by which clients recognize a server on their own machine.

An address does not say that: behind 127.0.0.1 may be a tunnel, or a container with other files.
"""

import functools
from pathlib import Path


@functools.cache
def boot_id() -> str:
    """The identifier of the machine's current boot. Raises OSError where there is none."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def this_machine() -> str:
    """The same text for all processes of one boot of a machine that share the root of its files;
    empty if it is not known.

    A process with a private /tmp is on the same machine, one in a container's image is not.
    """
    try:
        boot = boot_id()
        root = Path("/").stat()
    except OSError:
        return ""
    import hashlib  # it loads OpenSSL, which only this needs

    return hashlib.sha256(f"{boot} {root.st_dev} {root.st_ino}".encode()).hexdigest()[:32]
