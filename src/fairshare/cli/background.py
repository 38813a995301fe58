"""Owns the start of a server that runs on by itself: until it listens, or says why it does not."""

import subprocess
import sys
import tempfile
from typing import Any

import click

from fairshare.client.discovery import find_url
from fairshare.errors import FairshareError

READY = "listening on "


def options_of(context: click.Context, *without: str) -> list[str]:
    """The command line that means what was given, but for the parameters named in `without`."""
    words: list[str] = []
    for parameter in context.command.params:
        value: Any = context.params.get(parameter.name or "")
        if value is None or value is False or parameter.name in without:
            continue
        flag = parameter.opts[0]
        words += [flag] if value is True else [flag, str(value)]
    return words


def start_server(options: list[str]) -> None:
    """Start `fairshare serve` in a session of its own, and return when it listens.

    Ends with the server's own words and exit code if it does not come to that.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            # -P: no module is imported from the folder where this is called, least of all by root.
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
    process.returncode = 0  # it lives on: nobody here is to wait for it, or to warn of that


def how_it_ends(url: str) -> str:
    """What ends the server at `url`: other verbs may look for theirs elsewhere.

    >>> "shutdown --url http://127.0.0.1:8188`" in how_it_ends("http://127.0.0.1:8188")
    True
    """
    try:
        known = find_url()
    except FairshareError:
        known = ""
    if known == url:
        return "`fairshare shutdown` ends it"
    return (
        f"`fairshare shutdown --url {url}` ends it; other verbs take --url too, or set"
        " FAIRSHARE_STATE to its state directory"
    )


def _first_words(process: "subprocess.Popen[str]") -> str:
    """The line that says that it listens; empty if it has ended before."""
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            if line.startswith(READY):
                return line.strip()
    return ""
