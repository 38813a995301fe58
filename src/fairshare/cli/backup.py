"""`fairshare backup`: a copy of a server's state, from which another server can continue."""

import glob
import os
import shutil
import signal
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
from fairshare.server.side_file import copy_side_file
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
