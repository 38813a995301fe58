"""The parsing of arguments of YARN's commands: long options with one dash, in any order.

As in Hadoop's commands, `-name`, `--name` and `-name=value` are the same option; an option takes no
value, one, or all words up to the next option, and some split a value at commas.
"""

from collections.abc import Mapping, Sequence

import msgspec

MANY = -1
"""All words up to the next option."""


class WrongUsage(Exception):
    """The arguments are invalid for this command; the message says why, and may be empty."""


class Option(msgspec.Struct, frozen=True):
    """One option. `values` is the maximum number of its words, `needs` the minimum.

    `commas`: commas divide a word into several values. `other` is an alias.
    """

    name: str
    help: str = ""
    values: int = 0
    argument: str = ""
    commas: bool = False
    needs: int = 1
    other: str = ""


class Arguments:
    """The parsed arguments: the values of each option, and the remaining words (`rest`)."""

    def __init__(self, values: Mapping[str, tuple[str, ...]], rest: tuple[str, ...]) -> None:
        self._values = values
        self.rest = rest

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str) -> str:
        """The first value of a given option."""
        return self._values[name][0]

    def values(self, name: str) -> tuple[str, ...]:
        """All values, stripped and without empty ones; () if the option was not given."""
        return tuple(word.strip() for word in self._values.get(name, ()) if word.strip())

    def only(self, *names: str) -> bool:
        """Whether only these options were given."""
        return set(self._values) <= set(names)


def read_arguments(words: Sequence[str], options: Sequence[Option]) -> Arguments:
    """Divide the words among the options; raises WrongUsage.

    >>> found = read_arguments(["-list", "-appStates", "RUNNING,ACCEPTED"],
    ...     [Option("list"), Option("appStates", values=MANY, commas=True)])
    >>> found.values("appStates"), "list" in found
    (('RUNNING', 'ACCEPTED'), True)
    """
    known = {name: option for option in options for name in (option.name, option.other) if name}
    values: dict[str, tuple[str, ...]] = {}
    rest: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, divider, inline = word.lstrip("-").partition("=")
        if not _is_option(word):
            rest.append(word)
            continue
        option = known.get(name)
        if option is None or (divider and not option.values):
            raise WrongUsage(f"Unrecognized option: {word}")
        taken = [inline] if divider else []
        while waiting and (option.values == MANY or len(taken) < option.values):
            if _is_option(waiting[0]):
                break
            taken.append(waiting.pop(0))
        if option.values and len(taken) < option.needs:
            raise WrongUsage("Missing argument for options")
        if option.commas:
            taken = [part for word in taken for part in word.split(",")]
        values[option.name] = (*values.get(option.name, ()), *taken)
    return Arguments(values, tuple(rest))


def _is_option(word: str) -> bool:
    """Whether a word is an option: it starts with a dash, and is not a negative number.

    >>> _is_option("-list"), _is_option("-5"), _is_option("-")
    (True, False, False)
    """
    return word.startswith("-") and len(word.strip("-")) > 0 and not word[1:].isdigit()


def usage(title: str, options: Sequence[Option]) -> str:
    """The usage message of a command.

    >>> options = [Option("list", "Lists all."), Option("status", "Shows one.", 1, "ID")]
    >>> print(usage("demo", options))
    usage: demo
     -list          Lists all.
     -status <ID>   Shows one.
    """
    names = {}
    for option in sorted(options, key=lambda one: one.name.lower()):
        shown = f"-{option.name}" + (f",--{option.other}" if option.other else "")
        names[shown + (f" <{option.argument or 'arg'}>" if option.values else "")] = option.help
    width = max(map(len, names))
    return "\n".join([f"usage: {title}", *(f" {n:{width}}   {text}" for n, text in names.items())])
