"""Owns `fairshare backup`: a copy of a server's record, from which another one can go on."""

import glob
import os
import shutil
import signal
from pathlib import Path

import click

from fairshare.cli.verbs import Failure
from fairshare.errors import FairshareError
from fairshare.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.live.payloads import copy_payloads
from fairshare.wording import counted, failed_call

_SMALL_FILES = ("cluster.json", "secret", "tokens.json", "scheduler-conf.json")


@click.command
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--state",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="FAIRSHARE_STATE",
    default=Path("~/.local/state/fairshare").expanduser(),
    help="The server's state directory. [default: ~/.local/state/fairshare]",
)
def command(target: Path, state: Path) -> None:
    """Copy a server's record to a new folder TARGET, while the server runs.

    What is copied is the journal with its snapshots, all of one instant, and what belongs to it:
    the Python calls of applications that are not over (payloads), cluster.json, the secret of the
    drivers, the hashes of the users' tokens, and the scheduler's properties where the server keeps
    them (scheduler-conf.json). A server can be started on the copy, and opens to the same tokens.
    The output of containers and the logs are not in it.
    """
    if target.exists():
        raise Failure(f"{target} exists already: name a new folder")
    journal = SqliteJournal(state, read_only=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    before = signal.signal(signal.SIGTERM, _interrupted)
    try:
        _remove_left_over(target)
        draft.mkdir(mode=0o700, parents=True)
        # Before the journal, so that nothing is missing that ends meanwhile, and behind it, for
        # what came in meanwhile.
        copy_payloads(state, draft)
        journal.back_up(draft / JOURNAL_FILE)
        copy_payloads(state, draft)
        for name in _SMALL_FILES:
            if (state / name).exists():
                shutil.copy(state / name, draft / name)
                (draft / name).chmod(0o600)
        (draft / JOURNAL_FILE).chmod(0o600)
        draft.rename(target)
    except BaseException as error:  # an interrupt too leaves nothing behind
        shutil.rmtree(draft, ignore_errors=True)
        if not isinstance(error, OSError | FairshareError):
            raise
        reason = failed_call(error) if isinstance(error, OSError) else error
        raise Failure(f"no copy was made: {reason}") from error
    finally:
        signal.signal(signal.SIGTERM, before)
        journal.close()
    size = (target / JOURNAL_FILE).stat().st_size
    click.echo(f"copied {counted(size, 'byte')} to {target}")


def _interrupted(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _remove_left_over(target: Path) -> None:
    """Remove unfinished copies to the same folder whose process is gone: it was killed."""
    for draft in target.parent.glob(f".{glob.escape(target.name)}.*"):
        number = draft.name.rpartition(".")[2]
        if number.isdecimal() and not _lives(int(number)):
            shutil.rmtree(draft, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is somebody else's
    return True
