"""The `#SBATCH` lines of a script, as options of `submit`.

Slurm reads them from the first lines of a script, up to its first command. What has no equivalent
is named, and not silently left out; options of the command line replace what a line says.
"""

import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from fairshare.cli.arrays import Array
from fairshare.cli.units import parse_dependency, parse_slurm_time_ms
from fairshare.cli.work_options import OPTIONS
from fairshare.documents.bounds import NOTICE_EVENTS
from fairshare.documents.sizes import parse_memory_mb
from fairshare.wording import plain_lines

MARK: Final = "#SBATCH"
_MOST_READ: Final = 65_536

Options = dict[str, Any]


class Script(NamedTuple):
    """A script with lines for Slurm: what it says, and what of that is not done here. `words` are
    those of the command that runs it."""

    path: Path
    words: tuple[str, ...]
    options: Options
    left_out: list[str]


class _LeftOut(Exception):
    """An option means what there is not here; the message says what to do."""


def _same(field: str) -> Callable[[str, Options], None]:
    """An option that is one of ours, with the same grammar."""
    kind = next(opt for opt in OPTIONS if opt.field == field and opt.help).option().type

    def read(text: str, options: Options) -> None:
        options[field] = kind.convert(text, None, None)

    return read


def _time(text: str, options: Options) -> None:
    if text.upper() not in ("0", "INFINITE", "UNLIMITED"):
        options["time_limit_ms"] = parse_slurm_time_ms(text)


def _gpus(text: str, options: Options) -> None:
    """`2`, `a100:2`, or in `--gres` `gpu:a100:2`."""
    names = text.split(":")
    if names[0] == "gpu":
        names = names[1:] or ["1"]
    elif len(names) > 1 and not names[-1].isdigit():
        raise _LeftOut("of generic resources only gpu is known: give --resource NAME=N")
    count = names[-1] if names[-1].isdigit() else "1"
    if count.strip("0"):
        _same("gpus")(count, options)
    if names[0] != count:
        raise _LeftOut(f"any {count} of the GPUs are taken: their kind cannot be chosen")


def _memory(text: str, options: Options) -> None:
    if not text.strip("0"):
        raise _LeftOut("0 is all memory of a node: give --exclusive, or an amount")
    _same("memory")(text, options)


def _gres(text: str, options: Options) -> None:
    for part in text.split(","):
        if not part.startswith("gpu"):
            raise _LeftOut("of generic resources only gpu is known: give --resource NAME=N")
        _gpus(part, options)


def _dependency(text: str, options: Options) -> None:
    outcomes = {"afterok": "ok", "afterany": "any", "afternotok": "failed"}
    after = []
    for part in text.split(","):
        kind, *numbers = part.split(":")
        if kind not in outcomes or not numbers:
            raise _LeftOut("afterok, afterany and afternotok are known, all of which must hold")
        after += [parse_dependency(f"{number}:{outcomes[kind]}") for number in numbers]
    options["after"] = tuple(after)


def _export(text: str, options: Options) -> None:
    names = text.split(",")
    values = dict(name.split("=", 1) for name in names if "=" in name)
    plain = [name for name in names if "=" not in name]
    if plain:
        every = [name.lower() for name in plain if name.upper() in ("ALL", "NONE", "NIL")]
        options["export"] = every[0].replace("nil", "none") if every else ",".join(plain)
    if values:
        options["environment"] = tuple(values.items())


def _hosts(text: str, options: Options) -> None:
    if "[" in text:
        raise _LeftOut("write each node by its name: --nodelist a,b")
    _same("nodelist")(text, options)


def _nodes(text: str, options: Options) -> None:
    """A number of nodes."""
    if text not in ("1", "1-1"):
        raise _LeftOut(
            "a script runs in one container on one node: for several give --count, or --gang"
        )


_SLURMS: Final = {"%A": "%j", "%a": "%t", "%x": "%n"}
"""What Slurm's patterns of file names are called here: %a is the index of a task there."""


def _file(field: str) -> Callable[[str, Options], None]:
    def read(text: str, options: Options) -> None:
        name = re.sub(r"%.", lambda found: _SLURMS.get(found[0], found[0]), text)
        unknown = [one for one in re.findall(r"%(.)", name) if one not in "jnut%"]
        if unknown:
            raise _LeftOut(f"%{unknown[0]} in names of files is not known: %j, %a, %x and %u are")
        options[field] = name

    return read


def _kept(field: str) -> Callable[[str, Options], None]:
    """What is combined with others when all lines are read."""

    def read(text: str, options: Options) -> None:
        options[field] = text

    return read


def _held(_: str, options: Options) -> None:
    options["held"] = True


def _once(_: str, options: Options) -> None:
    options["max_attempts"] = 1


def _exclusive(_: str, options: Options) -> None:
    options["exclusive"] = True


def _nothing(_: str, options: Options) -> None:
    """What is so here in any case, or concerns only what sbatch prints."""


_WITH_VALUE: Final[dict[tuple[str, ...], Callable[[str, Options], None]]] = {
    ("-p", "--partition"): _same("queue"),
    ("-J", "--job-name"): _same("name"),
    ("-c", "--cpus-per-task"): _same("vcores"),
    ("--mem",): _memory,
    ("--mem-per-cpu",): _kept("mem-per-cpu"),
    ("-n", "--ntasks"): _kept("ntasks"),
    ("--ntasks-per-node",): _kept("ntasks"),
    ("-N", "--nodes"): _nodes,
    ("-t", "--time"): _time,
    ("-a", "--array"): _same("array"),
    ("-G", "--gpus"): _gpus,
    ("--gpus-per-node",): _gpus,
    ("--gpus-per-task",): _gpus,
    ("--gres",): _gres,
    ("-o", "--output"): _file("output"),
    ("-e", "--error"): _file("error"),
    ("-i", "--input"): _file("input"),
    ("-D", "--chdir"): _same("directory"),
    ("-b", "--begin"): _same("begin_ms"),
    ("--deadline",): _same("deadline_ms"),
    ("--signal",): _same("end_signal"),
    ("-C", "--constraint"): _same("label"),
    ("-d", "--dependency"): _dependency,
    ("--export",): _export,
    ("-w", "--nodelist"): _hosts,
    ("--mail-type",): _kept("mail-type"),
    ("--mail-user",): _kept("mail-user"),
    ("--priority",): _same("priority"),
}
_FLAGS: Final[dict[tuple[str, ...], Callable[[str, Options], None]]] = {
    ("-H", "--hold"): _held,
    ("--no-requeue",): _once,
    ("--exclusive",): _exclusive,
    ("--requeue",): _nothing,
    ("--parsable",): _nothing,
    ("-Q", "--quiet"): _nothing,
    ("-v", "--verbose"): _nothing,
}
_MAIL: Final = {
    "BEGIN": ("start",),
    "END": ("end",),
    "FAIL": ("failed",),
    "ALL": NOTICE_EVENTS,
    "NONE": (),
}


def read_script(command_line: tuple[str, ...]) -> Script | None:
    """The script that a command line begins with, if it has lines for Slurm; raises UsageError for
    a value that is none."""
    path = Path(command_line[0]).expanduser()
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            text = file.read(_MOST_READ).decode(errors="replace")
    except OSError:
        return None
    lines = []  # those for Slurm with their numbers, up to the first command
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"{MARK}(?=\s)", line):
            lines.append((number, line.removeprefix(MARK)))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    if not lines:
        return None
    name = str(path) if "/" in str(path) else f"./{path}"
    runner = [name]
    interpreter = re.match(r"#!\s*(\S+)(?:[ \t]+(.*\S))?", text)
    if interpreter is not None and not os.access(path, os.X_OK):
        runner = [*filter(None, interpreter.groups()), name]  # as sbatch does
    script = Script(path, (*runner, *command_line[1:]), {}, [])
    parser = _parser()
    for number, line in lines:
        _read_line(script, parser, number, line)
    _combine(script)
    return script


def _parser() -> click.Command:
    """Reads the words of a line as getopt does; what it finds is called by the longest name."""
    options: list[click.Parameter] = [
        click.Option([*names, _key(names)], multiple=True) for names in _WITH_VALUE
    ]
    options += [click.Option([*names, _key(names)], is_flag=True) for names in _FLAGS]
    return click.Command(MARK, params=options, add_help_option=False)


def _key(names: tuple[str, ...]) -> str:
    return names[-1].lstrip("-").replace("-", "_")


def _read_line(script: Script, parser: click.Command, number: int, line: str) -> None:
    """Take what a line says; what is not known goes to what is left out."""
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        script.left_out.append(line.strip())
        return
    while True:
        try:
            values = parser.make_context(MARK, list(words)).params
            break
        except click.NoSuchOption as error:
            first, last = _unknown(parser, words, error.option_name)
            script.left_out.append(shlex.join(words[first:last]))
            del words[first:last]
        except click.UsageError as error:
            raise click.UsageError(f"{script.path}:{number}: {error.message}") from error
    for names, read in (*_WITH_VALUE.items(), *_FLAGS.items()):
        said = values[_key(names)]
        for value in said if isinstance(said, tuple) else (("",) if said else ()):
            shown = f"{names[-1]}={value}" if value else names[-1]
            try:
                read(value, script.options)
            except _LeftOut as reason:
                script.left_out.append(f"{shown} ({reason})")
            except (click.UsageError, ValueError) as error:
                words_ = error.message if isinstance(error, click.UsageError) else str(error)
                raise click.UsageError(f"{script.path}:{number}: {shown}: {words_}") from error


def _unknown(parser: click.Command, words: list[str], option: str) -> tuple[int, int]:
    """The part of a line that has an unknown option, with its value.

    >>> _unknown(_parser(), ["-p", "gpu", "-A", "lab", "-n", "2"], "-A")
    (2, 4)
    """
    first = 0
    for first in range(len(words)):  # it may be in a word with others, such as -Hx
        try:
            parser.make_context(MARK, words[: first + 1])
        except click.NoSuchOption as error:
            if error.option_name == option:
                break
        except click.UsageError:
            pass  # the value is the next word
    last = first + 1
    while last < len(words) and not words[last].startswith("-"):
        last += 1
    return first, last


def _combine(script: Script) -> None:
    """What several lines say together: processors and memory of all tasks of a script, and whom to
    write about what."""
    options = script.options
    tasks = options.pop("ntasks", "1")
    if tasks != "1":
        if not tasks.isdigit() or not 1 <= int(tasks) <= 10_000:
            script.left_out.append(f"--ntasks={tasks}")
        else:
            options["vcores"] = int(tasks) * options.get("vcores", 1)
            script.left_out.append(
                f"--ntasks={tasks} (the script runs once, with {options['vcores']} vcores: give"
                f" --count {tasks} to run it so many times)"
            )
    if (each := options.pop("mem-per-cpu", None)) is not None:
        try:
            options["memory"] = parse_memory_mb(each) * options.get("vcores", 1)
        except ValueError as error:
            script.left_out.append(f"--mem-per-cpu={each} ({error})")
    user, kinds = options.pop("mail-user", ""), options.pop("mail-type", "")
    if user and kinds:
        events = [event for kind in kinds.split(",") for event in _MAIL.get(kind.upper(), ())]
        unknown = [kind for kind in kinds.split(",") if kind.upper() not in _MAIL]
        script.left_out.extend(f"--mail-type={kind}" for kind in unknown)
        if events:
            options["notify"] = (f"mailto:{user}",)
            options["notify_on"] = tuple(dict.fromkeys(events))
    elif kinds and kinds.upper() != "NONE":
        script.left_out.append(f"--mail-type={kinds} (without --mail-user there is no address)")


def with_script(
    command_line: tuple[str, ...], options: Mapping[str, object]
) -> tuple[tuple[str, ...], Options]:
    """The command line and its options, with what the script in it says for Slurm; prints what of
    that is left out."""
    script = read_script(command_line) if command_line else None
    if script is None:
        return command_line, dict(options)
    said = _without_contradictions(script.options, options)
    if script.left_out:
        line = f"{script.path}: of its {MARK} lines this is left out: {'; '.join(script.left_out)}"
        click.echo(plain_lines(line), err=True)
    return script.words, {**said, **options}


def _without_contradictions(said: Options, options: Mapping[str, object]) -> Options:
    """What a script says, without what the command line says in another way."""
    instead = {
        "array": ("count",),
        "count": ("array",),
        "at_once": (),
        "resources": ("gpus",),
        "hosts": ("nodelist",),
        "memory": ("exclusive",),
        "vcores": ("exclusive",),
        "exclusive": ("memory", "vcores"),
        "driver": ("array",),
        "notify": ("notify_on",),
    }
    gone = {name for option in options for name in instead.get(option, ())}
    kept = {name: value for name, value in said.items() if name not in gone}
    array = kept.get("array")
    if isinstance(array, Array) and "at_once" in options:
        kept["array"] = array._replace(at_once=None)
    return kept
