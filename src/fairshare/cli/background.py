"""Owns the start of a server in the background: waits until it listens or fails."""

import subprocess
import sys
import tempfile
from typing import Any

import click

from fairshare.client.discovery import UNIX, find_url
from fairshare.errors import FairshareError

READY = "listening on "


def options_of(context: click.Context, *without: str) -> list[str]:
    """The command line of the given parameters, except those named in `without`."""
    words: list[str] = []
    for parameter in context.command.params:
        value: Any = context.params.get(parameter.name or "")
        if value is None or value is False or parameter.name in without:
            continue
        if isinstance(value, tuple):
            value = ",".join(value) + ","  # one name alone remains a name
        flag = parameter.opts[0]
        words += [flag] if value is True else [flag, str(value)]
    return words


def start_server(options: list[str]) -> None:
    """Start `fairshare serve` in a session of its own, and return when it listens.

    If the server fails, exits with the server's messages and exit code.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            # -P: never imports modules from the current directory, above all not as root.
            [sys.executable, "-P", "-m", "fairshare", "serve", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            line = _first_words(process)
        except BaseException:
            process.terminate()
            raise
        code = process.wait() if not line else 0
        errors.seek(0)
        click.echo(errors.read(), err=True, nl=False)
    if not line:
        raise SystemExit(code or 1)
    url = line.removeprefix(READY).split()[0]
    click.echo(f"{line} (process {process.pid}); {how_it_ends(url)}")
    process.returncode = 0  # it keeps running: Popen must neither wait for it nor warn


def how_it_ends(url: str) -> str:
    """The command that ends the server at `url`, with `--url` if it is not the default server.

    >>> "shutdown --url http://127.0.0.1:8188`" in how_it_ends("http://127.0.0.1:8188")
    True
    """
    try:
        known = find_url()
    except FairshareError:
        known = ""
    if known == url or known.startswith(UNIX):
        return "`fairshare shutdown` ends it"
    return (
        f"`fairshare shutdown --url {url}` ends it; other verbs take --url too, or set"
        " FAIRSHARE_STATE to its state directory"
    )


def _first_words(process: "subprocess.Popen[str]") -> str:
    """The line that the server prints when it listens; empty if it has ended before."""
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            if line.startswith(READY):
                return line.strip()
    return ""
