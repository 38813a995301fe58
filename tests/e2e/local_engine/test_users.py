"""What pruning clears away, and an engine of a user who may do nothing."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fairshare.core.model.identifiers import container_id
from fairshare.errors import EngineError

from .conftest import APPLICATION, PATIENCE_S, SOURCE, processes_of, shell

# ---- cleaning, and other users


def test_pruning_deletes_a_finished_application_and_refuses_a_running_one(engine, state):
    local, reports = engine
    local.launch(shell(1, "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 500 a"))
    local.launch(shell(2, "sleep 1000"))
    reports.started(container_id(1, 1, 2))
    reports.exited(container_id(1, 1, 1))
    with pytest.raises(EngineError, match="_000002 still runs"):
        local.prune(APPLICATION)
    assert (state / "containers" / APPLICATION / shell(1, "").container_name).exists()
    local.stop(container_id(1, 1, 2))
    reports.exited(container_id(1, 1, 2))
    local.prune(APPLICATION)
    assert list((state / "containers").iterdir()) == []
    local.prune(APPLICATION)
    with pytest.raises(EngineError, match="cannot name a directory"):
        local.prune("../containers")


def as_nobody(interpreter: str, program: str) -> "subprocess.CompletedProcess[str]":
    packages = [str(SOURCE), str(Path(pytest.__file__).parents[1])]
    return subprocess.run(
        [interpreter, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        user=65534,
        group=65534,
        extra_groups=[],
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(packages), "HOME": "/"},
    )


def interpreter_for_nobody() -> str | None:
    for interpreter in (sys.executable, "/usr/bin/python3"):
        try:
            done = as_nobody(interpreter, "import fairshare.engines.local.engine, cloudpickle")
        except OSError:
            continue
        if done.returncode == 0:
            return interpreter
    return None


def test_an_ordinary_user_without_cgroups_has_watched_memory_and_whole_trees(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user; the other tests ran as an ordinary one")
    interpreter = interpreter_for_nobody()
    if interpreter is None:
        pytest.skip("another user cannot run any interpreter that has our dependencies")
    place = Path("/tmp") / f"fairshare-nobody-{os.getpid()}"
    place.mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from conftest import *
        state = Path({str(place)!r}, "state")
        engine, reports = LocalEngine(state), Reports()
        engine.start(reports)
        print(engine.nodes()[0].attributes)
        wanted = tree(1, "sleep 1000")
        engine.launch(python(2, HOG, memory_mb=100))
        engine.launch(shell(3, "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 500 a"))
        engine.launch(wanted)
        pids = members(engine.files(APPLICATION, wanted.container_name).work)
        engine.stop(wanted.container)
        print(reports.exited(wanted.container).exit_code, any(map(alive, pids)))
        print(reports.exited(container_id(1, 1, 2)).exit_code)
        reports.exited(container_id(1, 1, 3))
        engine.prune(APPLICATION)
        engine.close(stop_containers=True)
        print(processes_of(state), list((state / "containers").iterdir()))
    """)
    try:
        done = as_nobody(interpreter, program)
    finally:
        leftover = processes_of(place / "state")
        shutil.rmtree(place)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "'memory-limit': 'watch'" in lines[0]
    assert "'cpu-limit': 'nice'" in lines[0]
    assert lines[1:] == ["143 False", "-104", "[] []"]
    assert leftover == []
