"""The phrases of messages that several packages share: counts, causes, unknown objects; and texts
of users that are safe for a terminal."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun; `plural` if it is not the noun with an s.

    >>> counted(1, "container"), counted(1200, "container"), counted(0, "query", "queries")
    ('1 container', '1,200 containers', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def hours_text(hours: float) -> str:
    """Resource-hours, with two digits behind the point at most; from 100 on with none.

    >>> hours_text(12_345.6), hours_text(10.0), hours_text(0.126)
    ('12,346', '10', '0.13')
    """
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:.2f}".rstrip("0").rstrip(".")


def span(ms: int) -> str:
    """A span of time, exactly.

    >>> span(200), span(1_000), span(5_400_000), span(1_500)
    ('200 ms', '1 s', '1 h 30 min', '1500 ms')
    """
    if ms % 1_000 or not ms:
        return f"{ms} ms"
    seconds = ms // 1_000
    parts = ((seconds // 3_600, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{amount} {unit}" for amount, unit in parts if amount)


def ran_too_long(limit_ms: int) -> str:
    """Why a container was ended that has a time limit."""
    return f"killed: ran longer than its time limit of {span(limit_ms)}"


def cause(error: BaseException) -> str:
    """The reason of a failure, without the system's error number and without the file name.

    The message around it names the file: `cannot read a.xml: Permission denied`.

    >>> cause(FileNotFoundError(2, "No such file or directory", "a.xml"))
    'No such file or directory'
    >>> cause(ValueError("two is not a number"))
    'two is not a number'
    """
    if isinstance(error, UnicodeDecodeError):
        return "this is not a text in UTF-8"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def failed_call(error: OSError) -> str:
    """The reason of a failure with the file name, for use as a whole message.

    >>> failed_call(FileNotFoundError(2, "No such file or directory", "a.xml"))
    'a.xml: No such file or directory'
    """
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([" -> ".join(files), cause(error)] if files else [cause(error)])


def no_application(name: str) -> str:
    """The message for an unknown application, the same in every interface."""
    return f"there is no application '{name}' (any more): `fairshare apps --all` lists all"


def no_node(name: str) -> str:
    """The message for an unknown node."""
    return f"there is no node '{name}': `fairshare nodes` lists all"


def no_container(name: str) -> str:
    """The message for an unknown container."""
    return (
        f"there is no container '{name}' (any more): `fairshare status APPLICATION` lists those"
        " that live"
    )


STOPPED = "The server was stopped, and the container with it."
"""The diagnostics of a container that ended with its server. Until the next record of the journal
no server ran."""

TAIL_TITLE = "last lines of stderr:"
"""In the diagnostics of a container, the last lines of its output follow this line."""


def without_output(diagnostics: str) -> str:
    """The diagnostics for callers without permission to see the container's output.

    >>> without_output("exit code 1\\nlast lines of stderr:\\nmy secret")
    'exit code 1'
    """
    return diagnostics.partition(TAIL_TITLE)[0].rstrip()


def plain(text: str) -> str:
    """A text with terminal control characters replaced; other characters stay.

    >>> plain("a\\x1b[2Jb"), plain("größe")
    ('a?[2Jb', 'größe')
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def plain_lines(text: str) -> str:
    """`plain`, which keeps line breaks."""
    return "\n".join(plain(line) for line in text.splitlines())
