"""The verb `mapreduce`, which runs a MapReduce job in the manner of Hadoop Streaming.

`fairshare.mapreduce` runs the job; this module has its options, the display of its progress, and
the report of its end.
"""

from pathlib import Path
from typing import Any

import click

from fairshare.cli.options import (
    DURATION,
    MEMORY,
    MOST_TASKS,
    NAME,
    VARIABLE,
    Number,
    Whole,
    checked,
    json_option,
    print_json,
    tags_option,
    with_client,
)
from fairshare.cli.tables import Output, open_output
from fairshare.cli.user_defaults import user_defaults
from fairshare.cli.verbs import INTERRUPTED
from fairshare.cli.wait import Waiting
from fairshare.client import ApplicationFailed, Client
from fairshare.documents.sizes import MEBIBYTE, parse_memory_mb
from fairshare.mapreduce.counters import Counters
from fairshare.mapreduce.jobs import IDENTITY, MapReduce, Result
from fairshare.wording import counted, plain, plain_lines

MOST_SPLITS = 100
"""The maximum number of splits that are printed."""


def parse_bytes(text: str) -> int:
    """Parse a size such as `64m` into bytes."""
    return parse_memory_mb(text) * MEBIBYTE


@click.command()
@click.option(
    "--input",
    "inputs",
    metavar="PATH",
    multiple=True,
    required=True,
    help="A file, a directory or a pattern; repeatable. .gz, .bz2 and .xz files are decompressed.",
)
@click.option(
    "--output", metavar="DIR", required=True, help="The output directory, which must not exist yet."
)
@click.option("--mapper", metavar="CMD", default=IDENTITY, help="A shell command. [default: cat]")
@click.option(
    "--reducer",
    metavar="CMD",
    help="A shell command. [default: none, the sorted lines are the result]",
)
@click.option(
    "--combiner", metavar="CMD", help="A shell command that reduces the output of each map."
)
@click.option(
    "--reduces",
    metavar="N",
    type=Whole(0, MOST_TASKS),
    default=1,
    help="The number of reduces; 0 for none. [default: 1]",
)
@click.option(
    "--maps",
    metavar="N",
    type=Whole(1, MOST_TASKS),
    default=1,
    help="The approximate minimum number of maps.",
)
@click.option(
    "--split-size",
    "split_bytes",
    metavar="S",
    type=checked(parse_bytes, "SIZE"),
    help="The size of a split of the input. [default: 128m]",
)
@click.option("--recursive", is_flag=True, help="Also read subdirectories.")
@click.option(
    "--key-fields",
    metavar="N",
    type=Whole(1),
    help="The number of fields of a mapper's line that form the key. [default: 1]",
)
@click.option(
    "--partition-fields",
    metavar="N",
    type=Whole(1),
    help="The number of fields of the key that determine the reduce. [default: all]",
)
@click.option("--field-separator", metavar="C", help="The separator of fields. [default: a tab]")
@click.option("--queue", metavar="Q", help="The queue. [default: selected by the placement rules]")
@click.option("--pool", metavar="P", help="The same as --queue root.P.")
@click.option("--user", metavar="U", help="The job's user. [default: the current user]")
@click.option("--name", metavar="N", type=NAME, help="The job's name. [default: the mapper]")
@click.option(
    "--priority", metavar="P", help="VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW or a whole number."
)
@tags_option
@click.option(
    "--memory", "memory_mb", metavar="M", type=MEMORY, help="The memory of each task. [default: 1g]"
)
@click.option(
    "--reduce-memory",
    "reduce_memory_mb",
    metavar="M",
    type=MEMORY,
    help="The memory of each reduce. [default: --memory]",
)
@click.option(
    "--sort-memory",
    "sort_memory_mb",
    metavar="M",
    type=MEMORY,
    help="The part of a map's memory for its output. [default: a quarter]",
)
@click.option("--vcores", metavar="V", type=Whole(1), help="The vcores of each task. [default: 1]")
@click.option(
    "--max-attempts",
    metavar="N",
    type=Whole(1, 1000),
    help="The number of failures of a task that fail the job. [default: 4]",
)
@click.option(
    "--time-limit",
    "time_limit_ms",
    metavar="T",
    type=DURATION,
    help="The time limit of one attempt: 90s, 10m.",
)
@click.option(
    "--slow-start",
    metavar="F",
    type=Number(0, 1),
    help="The fraction of maps that must be done before reduces start. [default: 1.0]",
)
@click.option("--speculative", is_flag=True, help="Start second attempts of slow tasks.")
@click.option(
    "--speculation-delay",
    "speculation_delay_ms",
    metavar="T",
    type=DURATION,
    help="The minimum run time before a second attempt. [default: 10s]",
)
@click.option("--host", "hosts", metavar="H", multiple=True, help="A node that has the input.")
@click.option(
    "--env",
    "environment",
    metavar="K=V",
    type=VARIABLE,
    multiple=True,
    help="An environment variable; repeatable.",
)
@click.option(
    "--directory",
    metavar="D",
    type=click.Path(path_type=Path),
    help="The working directory of the commands. [default: the current one]",
)
@click.option(
    "--wait/--no-wait", default=True, help="Wait until the job has ended. [default: wait]"
)
@click.option("--dry-run", is_flag=True, help="Check everything and print the splits; run nothing.")
@with_client
@json_option
def command(
    client: Client, wait: bool, dry_run: bool, as_json: bool, environment: Any, **options: Any
) -> None:
    """Run a MapReduce job: map, sort, reduce.

    The mapper reads the lines of its split and prints lines: a key, a tab, a value. Each reducer
    reads the lines of its keys in order and prints the result, which becomes DIR/part-00000 and so
    on. As with Hadoop Streaming, both are any programs, and may print to stderr
    `reporter:counter:GROUP,NAME,AMOUNT` and `reporter:status:TEXT`.

    \b
      fairshare mapreduce --input texts --output counts --reduces 2 \\
        --mapper "tr -cs '[:alpha:]' '\\n'" --reducer 'uniq -c'

    The exit code is 0 if the job finished, 1 if it failed, and 130 after Ctrl-C, which kills it (on
    a terminal it asks first). A job that fails or is killed leaves no output.
    """
    # Not a truth test: 0 is a given value.
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    if not given.keys() & {"queue", "pool"} and (queue := user_defaults().get("queue")):
        given["queue"] = queue
    job = MapReduce(environment=dict(environment), **given)
    if dry_run:
        print_splits(job, as_json=as_json)
        return
    console = open_output(stderr=True)  # before there is a job that Ctrl-C would have to kill
    application = job.submit(client)
    if wait:
        result = wait_for(console, client, job, application, as_json=as_json)
        if as_json:
            print_json(
                {
                    "id": application,
                    "output": str(result.output),
                    "counters": result.counters.sums,
                }
            )
        else:
            click.echo(f"{application} has written {plain(str(result.output))}")
            print_counters(result.counters)
    elif as_json:
        print_json({"id": application})
    else:
        click.echo(application)


def print_splits(job: MapReduce, *, as_json: bool) -> None:
    """Print the split of each map."""
    splits = job.splits()
    if as_json:
        print_json({"splits": [split._asdict() for split in splits], "reduces": job.reduces})
        return
    for split in splits[:MOST_SPLITS]:
        click.echo(f"{plain(split.path)} {split.start}+{split.length}")
    total = sum(split.length for split in splits)
    if len(splits) > MOST_SPLITS:
        click.echo(f"... and {len(splits) - MOST_SPLITS} more (--json lists all)")
    maps, reduces = counted(len(splits), "map"), counted(job.reduces, "reduce")
    click.echo(f"{maps} of {counted(total, 'byte')}, {reduces}")


def wait_for(
    console: Output, client: Client, job: MapReduce, application: str, *, as_json: bool
) -> Result:
    """Show the progress until the end; returns the result, or exits."""
    names = not as_json
    while True:
        try:
            if names:
                click.echo(application, err=True)
                names = False
            with Waiting(console) as waiting:
                return job.follow(client, application, waiting.show)
        except KeyboardInterrupt as error:
            if may_kill(application, asks=console.is_terminal):
                job.abort(client, application)
                click.echo(f"{application} is killed", err=True)
                raise click.exceptions.Exit(INTERRUPTED) from error
        except ApplicationFailed as failed:
            click.echo(plain_lines(str(failed)), err=True)
            raise click.exceptions.Exit(1) from failed


def may_kill(application: str, *, asks: bool) -> bool:
    """Whether to kill the job after Ctrl-C; a second Ctrl-C at the prompt means yes."""
    if not asks:
        return True
    try:
        return click.confirm(f"Kill {application}?", default=True, err=True)
    except (KeyboardInterrupt, click.Abort):
        return True


def print_counters(counters: Counters) -> None:
    """Print all counters, sorted by name, in Hadoop's form."""
    for group, entries in sorted(counters.sums.items()):
        click.echo(f"  {plain(group)}")
        for name, amount in sorted(entries.items()):
            click.echo(f"    {plain(name)}={amount}")
