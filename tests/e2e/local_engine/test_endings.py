"""How containers are ended: with all their processes, whatever these do."""

import time

from fairshare.core.model.identifiers import container_id

from .conftest import APPLICATION, alive, members, shell, tree, until

# ---- how it is ended


def test_stop_ends_the_whole_tree_also_sessions_and_daemons(engine):
    local, reports = engine
    wanted = tree(1, "wait; sleep 1000")
    local.launch(wanted)
    pids = members(local.files(APPLICATION, wanted.container_name).work)
    assert all(map(alive, pids))
    local.stop(wanted.container)
    local.stop(wanted.container)
    ended = reports.exited(wanted.container)
    assert not any(map(alive, pids))
    assert (ended.exit_code, ended.diagnostics) == (143, "stopped on request")
    local.stop(wanted.container)
    local.stop(container_id(9, 9, 9))


def test_what_a_finished_command_leaves_behind_is_ended_too(engine):
    local, reports = engine
    wanted = tree(1, "while [ ! -e c ]; do sleep 0.01; done; exit 4")
    local.launch(wanted)
    pids = members(local.files(APPLICATION, wanted.container_name).work)
    assert reports.exited(wanted.container).exit_code == 4
    assert not any(map(alive, pids))


def test_a_container_that_ignores_the_polite_signal_is_killed(engine):
    local, reports = engine
    wanted = shell(1, "trap '' TERM; touch ready; while :; do sleep 0.1; done")
    local.launch(wanted)
    until((local.files(APPLICATION, wanted.container_name).work / "ready").exists)
    local.stop(wanted.container)
    assert reports.exited(wanted.container).exit_code == 137


def test_a_stopped_container_that_says_0_has_not_succeeded(engine):
    local, reports = engine
    wanted = shell(1, "trap 'exit 0' TERM; touch ready; while :; do sleep 0.1; done")
    local.launch(wanted)
    until((local.files(APPLICATION, wanted.container_name).work / "ready").exists)
    local.stop(wanted.container)
    ended = reports.exited(wanted.container)
    assert ended.exit_code == 143
    assert ended.diagnostics.startswith("stopped on request; it answered SIGTERM with exit code 0")


def test_processes_that_fork_and_end_all_the_time_cannot_escape(engine, tmp_path):
    """Each lives for a moment only, its child goes on: there is hardly anybody to be seen."""
    local, reports = engine
    comet = tmp_path / "comet"
    # It ends by itself in the end, so that a failing test leaves nothing for ever.
    comet.write_text('#!/bin/sh\ntouch alive\n[ "$1" -gt 20000 ] || "$0" $(($1 + 1)) &\nexit 0\n')
    comet.chmod(0o755)
    wanted = shell(1, f"{comet} 1; sleep 1000")
    local.launch(wanted)
    sign = local.files(APPLICATION, wanted.container_name).work / "alive"
    until(sign.exists)
    local.stop(wanted.container)
    reports.exited(wanted.container)
    sign.unlink()
    time.sleep(0.2)  # nothing can be waited for: it is the absence of a sign that is wanted
    assert not sign.exists()


def test_a_stop_right_after_the_launch_is_not_lost(engine):
    local, reports = engine
    for number in range(1, 11):
        local.launch(shell(number, "sleep 1000"))
        local.stop(container_id(1, 1, number))
    for number in range(1, 11):
        assert reports.exited(container_id(1, 1, number)).exit_code in (137, 143)


def test_a_container_is_ended_at_its_time_limit_and_says_so(engine):
    local, reports = engine
    local.launch(shell(1, "sleep 1000", time_limit_ms=200))
    local.launch(shell(2, "exit 0", time_limit_ms=60_000))
    ended = reports.exited(container_id(1, 1, 1))
    assert (ended.exit_code, ended.timed_out) == (143, True)
    assert ended.diagnostics == "killed: ran longer than its time limit of 200 ms"
    other = reports.exited(container_id(1, 1, 2))
    assert (other.exit_code, other.timed_out) == (0, False)


def test_the_time_limit_of_what_runs_is_changed_and_counts_from_its_start(engine, tmp_path):
    local, reports = engine
    sign = tmp_path / "sign"
    local.launch(shell(1, "sleep 1000", time_limit_ms=600_000))
    local.launch(shell(2, f"sleep 3; touch {sign}", time_limit_ms=2_000))
    for number, limit_ms in ((2, None), (1, 300)):
        reports.started(container_id(1, 1, number))
        local.limit(container_id(1, 1, number), limit_ms)
    local.limit(container_id(1, 1, 3), 300)  # there is none
    ended = reports.exited(container_id(1, 1, 1))
    assert (ended.exit_code, ended.timed_out) == (143, True)
    assert ended.diagnostics == "killed: ran longer than its time limit of 300 ms"
    other = reports.exited(container_id(1, 1, 2))
    assert (other.exit_code, other.timed_out, sign.exists()) == (0, False, True)
