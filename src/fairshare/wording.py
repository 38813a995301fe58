"""Owns phrases that all rooms say in the same way: counts, causes, what is not there.

Stands below all rooms, and knows none of them.
"""


def counted(number: int, noun: str, plural: str = "") -> str:
    """How many of something there are; `plural` where an s is not enough.

    >>> counted(1, "container"), counted(1200, "container"), counted(0, "query", "queries")
    ('1 container', '1,200 containers', '0 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def cause(error: BaseException) -> str:
    """Why something failed, without the number that the system has for it, and without the file.

    The sentence around it names the file: `cannot read a.xml: Permission denied`.

    >>> cause(FileNotFoundError(2, "No such file or directory", "a.xml"))
    'No such file or directory'
    >>> cause(ValueError("two is no number"))
    'two is no number'
    """
    if isinstance(error, UnicodeDecodeError):
        return "this is no text in UTF-8"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def failed_call(error: OSError) -> str:
    """The same with the file, for where no sentence stands around it.

    >>> failed_call(FileNotFoundError(2, "No such file or directory", "a.xml"))
    'a.xml: No such file or directory'
    """
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return ": ".join([" -> ".join(files), cause(error)] if files else [cause(error)])


def no_application(name: str) -> str:
    """What is said of an application that nobody knows, by whichever door it was asked for."""
    return f"there is no application '{name}' (any more): `fairshare apps --all` lists all"


def no_node(name: str) -> str:
    """What is said of a node that is not there."""
    return f"there is no node '{name}': `fairshare nodes` lists all"


def no_container(name: str) -> str:
    """What is said of a container that nobody knows."""
    return (
        f"there is no container '{name}' (any more): `fairshare status APPLICATION` lists those"
        " that live"
    )


TAIL_TITLE = "last lines of stderr:"
"""What a container wrote last follows this line, at the end of its diagnostics."""


def without_output(diagnostics: str) -> str:
    """Diagnostics for callers that may not see what the container wrote.

    >>> without_output("exit code 1\\nlast lines of stderr:\\nmy secret")
    'exit code 1'
    """
    return diagnostics.partition(TAIL_TITLE)[0].rstrip()
