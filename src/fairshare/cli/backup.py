"""`fairshare backup`: a copy of a server's state, from which another server can continue; and
`migrate-state`, which moves the state of a server into a database, or out of it.
"""

import contextlib
import glob
import os
import shutil
import signal
import time
from pathlib import Path

import click

from fairshare.cli.options import state_option
from fairshare.cli.verbs import Failure
from fairshare.errors import FairshareError
from fairshare.runtime.journal.sqlite import JOURNAL_FILE, SqliteJournal
from fairshare.server import long_history
from fairshare.server.accounting import ledger
from fairshare.server.cron import store as cron
from fairshare.server.insight import ledger_file
from fairshare.server.notices import store as notices
from fairshare.server.packages import copy_packages
from fairshare.server.payloads import copy_payloads
from fairshare.server.shared.copy import read_marker
from fairshare.server.shared.database import link_to, shown
from fairshare.server.shared.migration import Moved, move_in
from fairshare.server.shared.takeover import POLL_S, Candidate
from fairshare.server.side_file import copy_side_file
from fairshare.settings.shell import StateSettings
from fairshare.wording import counted, failed_call

_SIDE_FILES = (long_history.FILE, ledger.FILE, ledger_file.FILE, notices.FILE, cron.FILE)
_SMALL_FILES = ("cluster.json", "secret", "tokens.json", "scheduler-conf.json")


@click.command
@click.argument("target", type=click.Path(path_type=Path))
@state_option
def command(target: Path, state: Path) -> None:
    """Copy a server's journal to a new directory TARGET, while the server runs. The directory in
    which it is made has to exist.

    The copy contains the journal with its snapshots, consistent at one instant, and the files that
    belong to it: the Python calls of applications that have not ended (payloads), the packages of
    Ray jobs, cluster.json, the secret of the drivers, the hashes of the users' tokens, the
    accounts (`fairshare history`), the ledger, the data that plans need from older records, the
    notices, the cron jobs, and the scheduler's properties if the server stores them
    (scheduler-conf.json). A server can be started on the copy, and accepts the same tokens.

    It does not contain the output of containers, the logs, nor the configuration directory.
    """
    if target.exists():
        raise Failure(f"{target} exists already: name a new folder")
    if not target.parent.is_dir():
        raise Failure(
            f"{target.parent} is not a directory that exists: is its disk mounted? Else make it"
            " first, or name another folder"
        )
    journal = SqliteJournal(state, read_only=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    before = signal.signal(signal.SIGTERM, _interrupted)
    try:
        for unfinished in target.parent.glob(f".{glob.escape(target.name)}.*"):
            number = unfinished.name.rpartition(".")[2]
            if number.isdecimal() and not _lives(int(number)):  # that copy's process was killed
                shutil.rmtree(unfinished, ignore_errors=True)
        draft.mkdir(mode=0o700)
        # Before the journal, for applications that end meanwhile, and after it, for those submitted
        # meanwhile.
        copy_payloads(state, draft)
        journal.back_up(draft / JOURNAL_FILE)
        copy_payloads(state, draft)
        copy_packages(state, draft)
        for name in _SIDE_FILES:
            copy_side_file(state / name, draft / name)
        for name in _SMALL_FILES:
            if (state / name).exists():
                shutil.copy(state / name, draft / name)
                (draft / name).chmod(0o600)
        (draft / JOURNAL_FILE).chmod(0o600)
        draft.rename(target)
    except BaseException as error:  # also after an interrupt
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


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's process
    return True


@click.command("migrate-state")
@state_option
@click.option(
    "--to",
    metavar="URL",
    help="The database, without a state: postgresql://USER@HOST/DATABASE. The directory"
    " is a copy of it then.",
)
@click.option(
    "--back",
    is_flag=True,
    help="Bring the directory's copy up to date, and make it a state of its own; servers"
    " cannot use the database any more.",
)
def migrate_state(state: Path, to: str | None, back: bool) -> None:
    """Move a server's state to a PostgreSQL database, or back to its directory.

    No server may run meanwhile. Everything moves in one transaction, and is compared record by
    record and file by file before it counts: an error, or an interruption, leaves it where it was.

    With --to the directory becomes a copy of the database; write the same URL as url below [state]
    of fairshare.toml. With --back the copy is brought up to date first, and the database cannot be
    used by servers any more. The ledger and the estimates go along with --to; later each host has
    its own, and --back leaves those of the directory.
    """
    if (to is None) == (not back):
        raise click.UsageError("--to and --back: give one of both")
    if to is not None:
        if not (state / JOURNAL_FILE).exists():
            raise Failure(f"{state} has no {JOURNAL_FILE}: name a server's state directory")
        with contextlib.closing(SqliteJournal(state)) as journal, link_to(to, "move") as link:
            moved = move_in(link, state, journal)
        place = f"from {state} to {shown(to)}"
    else:
        marker = read_marker(state)
        if marker is None:
            raise Failure(f"{state} is not a copy of a database: its state is its own already")
        moved = _back(marker.url, state)
        place = f"from {shown(marker.url)} to {state}"
    click.echo(
        f"moved {counted(moved.records, 'record')}, {counted(moved.snapshots, 'snapshot')} and"
        f" {counted(moved.files, 'file')} {place}; all are the same there"
    )


def _back(url: str, state: Path) -> Moved:
    patience_s = StateSettings().takeover_s
    with contextlib.closing(Candidate.open(url, state, patience_s, back=True)) as candidate:
        until_s = time.monotonic() + 2 * patience_s
        while time.monotonic() < until_s:
            beat = candidate.look()
            if beat is not None and (moved := candidate.move_back(beat)):
                return moved
            time.sleep(POLL_S)
        raise Failure(f"{candidate.leader or 'another server'} leads: stop that server first")
