"""What a container gets before it is ended: a signal, and time to save."""

import sys
import textwrap
import time

from fairshare.api.work import EndSignal
from fairshare.core.model.identifiers import container_id

from .conftest import python, shell, until

FIRST = container_id(1, 1, 1)
SAVER = """
    import signal, sys, time
    def save(number, frame):
        time.sleep(1)
        open("saved", "w").write(signal.Signals(number).name)
        sys.exit({code})
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, save)
    open("ready", "w").close()
    time.sleep(1000)
"""


def saved(state):
    return next((state / "containers").glob("*/*/work")) / "saved"


def ready(state):
    until(lambda: list((state / "containers").rglob("ready")))


def test_a_stopped_container_may_save_within_its_grace_time(start, state):
    local, reports = start()
    local.launch(python(1, SAVER.format(code=0), grace_ms=60_000))
    ready(state)
    local.stop(FIRST)
    report = reports.exited(FIRST)
    assert saved(state).read_text() == "SIGTERM"
    assert (report.exit_code, report.diagnostics) == (
        143,
        "stopped on request; it answered SIGTERM with exit code 0",
    )


def test_without_a_grace_time_of_its_own_that_of_the_engine_counts(start, state):
    local, reports = start(grace_ms=50)
    local.launch(python(1, SAVER.format(code=0)))
    ready(state)
    local.stop(FIRST)
    assert reports.exited(FIRST).exit_code == 137
    assert not saved(state).exists()


def test_a_stopped_container_gets_its_own_signal_instead_of_sigterm(start, state):
    local, reports = start()
    signal = EndSignal(name="USR1")
    local.launch(python(1, SAVER.format(code=3), grace_ms=60_000, end_signal=signal))
    ready(state)
    local.stop(FIRST)
    assert "it answered SIGUSR1 with exit code 3" in reports.exited(FIRST).diagnostics
    assert saved(state).read_text() == "SIGUSR1"


def test_a_signal_comes_before_the_time_limit_and_an_end_by_itself_is_a_success(start, state):
    local, reports = start()
    signal = EndSignal(name="USR1", before_ms=57_000)
    began_s = time.monotonic()
    local.launch(python(1, SAVER.format(code=0), time_limit_ms=60_000, end_signal=signal))
    assert reports.exited(FIRST).exit_code == 0
    assert 3 <= time.monotonic() - began_s < 50
    assert saved(state).read_text() == "SIGUSR1"


def log_of(state):
    return next((state / "containers").glob("*/*/stdout.log")).read_text()


def test_a_shell_around_a_program_does_not_get_the_signal(start, state):
    local, reports = start()
    line = f"trap 'echo outer' USR1; {sys.executable} -c \"$PROGRAM\"; echo goes on"
    signal = EndSignal(name="USR1")
    variables = {"PROGRAM": textwrap.dedent(SAVER.format(code=0))}
    local.launch(shell(1, line, grace_ms=60_000, end_signal=signal, environment=variables))
    ready(state)
    local.stop(FIRST)
    reports.exited(FIRST)
    assert saved(state).read_text() == "SIGUSR1"
    assert log_of(state) == "goes on\n"


def test_a_signal_for_the_first_process_reaches_no_other(start, state):
    local, reports = start()
    line = (
        "trap 'echo outer; exit 5' USR1; (trap 'echo inner' USR1; sleep 1000) & touch ready; wait"
    )
    signal = EndSignal(name="USR1", first_process=True)
    local.launch(shell(1, line, grace_ms=60_000, end_signal=signal))
    ready(state)
    local.stop(FIRST)
    reports.exited(FIRST)
    assert log_of(state) == "outer\n"


def test_processes_that_outlive_the_first_one_get_a_quarter_of_a_second(start):
    local, reports = start()
    began_s = time.monotonic()
    local.launch(shell(1, "(trap '' TERM; sleep 1000) & exit 0", grace_ms=60_000))
    assert reports.exited(FIRST).exit_code == 0
    assert time.monotonic() - began_s < 30
