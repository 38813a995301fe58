"""What a container finds, what it leaves, and how it can fail."""

import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pytest

from fairshare.core.model.identifiers import container_id, container_name
from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.engines.local.preparation import THREADS

from .conftest import APPLICATION, EPOCH_MS, PATIENCE_S, SOURCE, order, python, shell, until

# ---- what a container finds


def test_a_container_runs_in_a_directory_of_its_own_and_its_output_goes_to_its_logs(engine):
    local, reports = engine
    local.launch(
        shell(1, "pwd; echo complaint >&2; ls -l /proc/self/fd | wc -l; readlink /proc/self/fd/0")
    )
    ended = reports.exited(container_id(1, 1, 1))
    files = local.files(APPLICATION, shell(1, "").container_name)
    assert (ended.exit_code, ended.diagnostics) == (0, "")
    # "total", 0, 1, 2 and the one that `ls` has open itself: nothing of ours is open
    assert files.stdout.read_text().splitlines() == [str(files.work), "5", "/dev/null"]
    assert files.stderr.read_text() == "complaint\n"
    assert [type(report) for report in reports.all] == [ContainerStarted, ContainerExited]


@pytest.mark.parametrize("wanted", [True, False])
def test_a_container_gains_rights_by_programs_unless_it_is_not_to(start, wanted):
    local, reports = start(no_new_privileges=wanted)
    command = f"grep -q '^NoNewPrivs:[[:space:]]*{int(wanted)}$' /proc/self/status"
    local.launch(shell(1, command))
    assert reports.exited(container_id(1, 1, 1)).exit_code == 0


def test_the_environment_is_small_and_says_what_the_container_is(engine, monkeypatch):
    local, reports = engine
    wanted = shell(
        1, "env", environment={"A": "1", "FAIRSHARE_TASK_INDEX": "9"},
        ours={"FAIRSHARE_TASK_INDEX": "3"}, memory_mb=300,
    )  # fmt: skip
    local.launch(wanted)
    reports.exited(wanted.container)
    files = local.files(APPLICATION, wanted.container_name)
    lines = dict(line.split("=", 1) for line in files.stdout.read_text().splitlines())
    assert lines.pop("PATH")
    for name in ("HOME", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR", "LANGUAGE",
                 "LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "SSL_CERT_DIR", "SSL_CERT_FILE",
                 "_"):  # fmt: skip
        lines.pop(name, None)
    assert lines == {
        "A": "1",
        "FAIRSHARE_TASK_INDEX": "3",
        "FAIRSHARE_APPLICATION": APPLICATION,
        "FAIRSHARE_CONTAINER": wanted.container_name,
        "FAIRSHARE_CONTAINER_DIRECTORY": str(files.path),
        "FAIRSHARE_NODE": "local",
        "FAIRSHARE_MEMORY_MB": "300",
        "FAIRSHARE_VCORES": "1",
        "FAIRSHARE_IDLE_S": "3600",
        **dict.fromkeys(THREADS, "1"),
    }


def test_a_container_is_a_session_of_its_own_with_all_signals_as_usual(engine):
    local, reports = engine
    wanted = python(
        1,
        """
        import os, signal
        assert os.getsid(0) == os.getpid()
        status = dict(l.split(":", 1) for l in open("/proc/self/status"))
        # python itself ignores SIGPIPE (13) and SIGXFSZ (25), and handles SIGINT (2)
        # signals 32 and up are the C library's own: nobody but it can set them
        ordinary = (1 << 31) - 1
        print(*(hex(int(status[name], 16) & ordinary) for name in ("SigBlk", "SigIgn", "SigCgt")))
        """,
    )
    local.launch(wanted)
    assert reports.exited(wanted.container).exit_code == 0
    log = local.files(APPLICATION, wanted.container_name).stdout.read_text()
    assert log.split() == ["0x0", hex(1 << 12 | 1 << 24), hex(1 << 1)]


def test_a_container_runs_on_the_node_of_its_order(start):
    local, reports = start(nodes=3)
    for number in (1, 2, 3):
        wanted = shell(number, "echo $FAIRSHARE_NODE", node=f"local-{number}")
        local.launch(wanted)
        reports.exited(wanted.container)
        log = local.files(APPLICATION, wanted.container_name).stdout
        assert log.read_text() == f"local-{number}\n"


# ---- how it can fail


def test_a_failure_says_its_exit_code_and_the_last_lines_of_stderr(engine):
    local, reports = engine
    local.launch(shell(1, "for i in $(seq 100); do echo line $i >&2; done; exit 3"))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == 3
    assert ended.diagnostics.splitlines()[0] == "exit code 3"
    assert ended.diagnostics.splitlines()[2:] == [f"line {i}" for i in range(81, 101)]


def test_a_container_ended_by_a_signal_says_which(engine):
    local, reports = engine
    local.launch(shell(1, "kill -SEGV $$"))
    ended = reports.exited(container_id(1, 1, 1))
    assert ended.exit_code == 139
    assert ended.diagnostics.startswith("ended by signal 11 (SIGSEGV)")


def test_what_cannot_be_run_is_reported_with_the_reason(engine, tmp_path):
    local, reports = engine
    plain = tmp_path / "plain"
    plain.write_text("text")
    orphan = tmp_path / "orphan"
    orphan.write_text("#!/no/such/interpreter\n")
    orphan.chmod(0o755)
    cases = [
        (order(1, "no-such"), 127, "cannot run 'no-such': no such command in PATH="),
        (order(2, "/no/such/file"), 127, "cannot run '/no/such/file': no such command"),
        (order(3), 127, "cannot run: the command is empty"),
        (order(4, str(plain)), 126, f"cannot run {str(plain)!r}: Permission denied"),
        (order(5, str(orphan)), 126, f"cannot run {str(orphan)!r}: the interpreter that it names"),
        (
            order(6, "true", directory="/no/such/place"), 126,
            "cannot run 'true': working directory '/no/such/place': No such file",
        ),
        (order(7, "true", "a\0b"), 126, "cannot run 'true': an argument, variable or path holds"),
        (order(8, "true", node="elsewhere"), -100, "this engine has no node 'elsewhere',"),
    ]  # fmt: skip
    for wanted, _, _ in cases:
        local.launch(wanted)
    for wanted, code, words in cases:
        ended = reports.exited(wanted.container)
        assert ended.exit_code == code
        assert ended.diagnostics.startswith(words)
        assert not reports.of(ContainerStarted, wanted.container)
    until(lambda: local.running() == frozenset())


def test_a_full_disk_fails_the_launch_and_leaves_nothing_half_done(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    program = textwrap.dedent(f"""
        import sys, pathlib
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from conftest import *
        state = pathlib.Path({str(disk)!r}, "state")
        engine, reports = LocalEngine(state), Reports()
        engine.start(reports)
        (state / "ballast").touch()
        with contextlib.suppress(OSError), (state / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
        engine.launch(shell(1, "true", environment=dict(BIG="x" * 100_000)))
        ended = reports.exited(container_id(1, 1, 1))
        print(ended.exit_code, ended.diagnostics)
        print([path.name for path in state.glob("containers/*/*")])
        (state / "ballast").unlink()
        engine.launch(shell(1, "exit 5"))
        reports.until(lambda: len(reports.of(ContainerExited, container_id(1, 1, 1))) == 2)
        print(reports.all[-1].exit_code)
        engine.close(stop_containers=True)
    """)
    program = "import contextlib\n" + program
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c",
         f'mount -t tmpfs -o size=1m tmpfs "{disk}" 2>/dev/null || exit 99; exec "$0" -c "$1"',
         sys.executable, program],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    if done.returncode == 99 or "unshare failed" in done.stderr:
        pytest.skip("a small file system cannot be mounted here")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"-101 cannot write {disk}/state/containers/")
    assert lines[0].endswith("No space left on device")
    assert lines[1:] == ["[]", "5"]


# ---- Python callables


def test_a_callable_runs_with_its_arguments_and_its_result_is_kept(engine):
    local, reports = engine
    factor = 7

    def multiply(a: int, *, b: int) -> tuple[int, Callable[[int], int]]:
        print("at work")
        return a * b * factor, lambda x: x + factor

    wanted = order(1, call=cloudpickle.dumps((multiply, (2,), {"b": 3})))
    local.launch(wanted)
    ended = reports.exited(wanted.container)
    assert (ended.exit_code, ended.diagnostics) == (0, "")
    number, function = pickle.loads(
        local.files(APPLICATION, wanted.container_name).result.read_bytes()
    )
    assert (number, function(1)) == (42, 8)
    assert local.files(APPLICATION, wanted.container_name).stdout.read_text() == "at work\n"


def test_a_callable_that_raises_ends_with_1_and_its_traceback(engine):
    local, reports = engine

    def fail() -> None:
        raise ValueError("not today")

    wanted = order(1, call=cloudpickle.dumps((fail, (), {})))
    local.launch(wanted)
    ended = reports.exited(wanted.container)
    assert ended.exit_code == 1
    assert ended.diagnostics.endswith("ValueError: not today")
    assert not local.files(APPLICATION, wanted.container_name).result.exists()


def test_temporary_files_have_a_folder_of_their_own_that_ends_with_the_container(engine):
    local, reports = engine
    local.launch(shell(1, 'stat -c %a "$TMPDIR"; echo "$TMPDIR"; mkdir -p "$TMPDIR/a/b"'))
    local.launch(shell(2, 'test -d "$TMPDIR"'))
    local.launch(shell(3, 'echo "$TMPDIR"', environment={"TMPDIR": "/mine"}))
    codes = [reports.exited(container_id(1, 1, number)).exit_code for number in (1, 2, 3)]
    assert codes == [0, 0, 0]

    def printed(number):
        name = container_name(EPOCH_MS, container_id(1, 1, number))
        return local.files(APPLICATION, name).stdout.read_text().split()

    mode, folder = printed(1)
    assert (mode, Path(folder).name) == ("700", f"{container_id(1, 1, 1):x}")
    assert printed(3) == ["/mine"]
    scratch = Path(folder).parent
    until(lambda: list(scratch.iterdir()) == [])
    until(lambda: list((scratch.parent / "deleted").iterdir()) == [])


def test_what_is_mounted_over_temporary_files_is_not_looked_at_and_they_end_without_it(
    engine, state
):
    local, reports = engine
    mount = 'mount -t tmpfs -o strictatime,mode=700 tmpfs "$TMPDIR" && : > "$TMPDIR/theirs"'
    local.launch(shell(1, f'{mount} && touch -a -d @1000 "$TMPDIR"'))
    if reports.exited(container_id(1, 1, 1)).exit_code != 0:
        pytest.skip("only root mounts a file system, where mounting is allowed")
    scratch = state / "scratch" / f"{container_id(1, 1, 1):x}"
    try:
        local.launch(shell(2, "true"))
        reports.exited(container_id(1, 1, 2))
        assert scratch.stat().st_atime == 1000
        assert (scratch / "theirs").exists()
    finally:
        subprocess.run(["umount", str(scratch)], check=True)
    local.launch(shell(3, "true"))  # tries again what could not be deleted
    reports.exited(container_id(1, 1, 3))
    until(lambda: not scratch.exists())


def test_temporary_files_of_containers_that_are_gone_are_deleted_at_a_start(start, state):
    left = state / "scratch" / "12345"
    (left / "a").mkdir(parents=True)
    start()
    until(lambda: not left.exists())


def test_a_container_sees_as_many_processors_as_it_has_vcores_where_a_vcore_is_one(start, state):
    count = len(os.sched_getaffinity(0))
    if count < 2:
        pytest.skip("the machine has one processor")
    local, reports = start(vcores=2)
    assert local.nodes()[0].attributes["processors"] == "own"
    seen = []
    for number in (1, 2):
        wanted = shell(number, "nproc; grep Cpus_allowed_list /proc/self/status; exec sleep 1000")
        local.launch(wanted)
        reports.started(container_id(1, 1, number))
        stdout = local.files(wanted.application_name, wanted.container_name).stdout
        until(lambda stdout=stdout: len(stdout.read_text().splitlines()) == 2)
        seen.append(stdout.read_text().splitlines())
    (one, first), (other, second) = seen
    assert (one, other) == ("1", "1")
    assert first != second


def test_containers_share_all_processors_where_there_are_more_vcores_or_the_settings_say_so(start):
    count = len(os.sched_getaffinity(0))
    for settings in ({"vcores": count + 1}, {"vcores": 1, "own_processors": False}):
        local, reports = start(**settings)
        assert local.nodes()[0].attributes["processors"] == "shared"
        line = f'test "$(nproc)" = {count}'
        local.launch(shell(settings["vcores"], line, environment={"OMP_NUM_THREADS": ""}))
        container = container_id(1, 1, settings["vcores"])
        assert reports.exited(container).exit_code == 0
        local.close(stop_containers=True)
