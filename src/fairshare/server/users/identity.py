"""Owns the name of the user who runs the server."""

import getpass
import os


def own_user() -> str:
    """The user that the server runs as; its number if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
