"""A journal that is lost or set back, beside the folders and processes of what ran before."""

import os
import shutil
import signal
import subprocess
import sys

from tests.e2e.test_server import Server, conf, serve, wait_until_gone

__all__ = ["conf", "serve"]


def outputs(server: Server, name: str) -> list[str]:
    return [server.log(one["id"]) for one in server.containers(name)]


def journal_away(server: Server) -> None:
    for path in server.state.glob("journal*"):
        path.unlink()


def test_after_the_loss_of_the_journal_no_user_gets_output_of_another(serve):
    server = serve()
    anns = server.run("echo the secret of ann")
    server.finished(anns)
    running = server.run("echo $$; exec sleep 1000")
    pid = int(server.until(lambda: server.log(server.running(running)["id"])))
    server.end(signal.SIGKILL)
    journal_away(server)

    again = serve()
    wait_until_gone(pid)
    bobs = again.run("echo of bob")
    assert bobs != anns
    assert again.finished(bobs)["state"] == "FINISHED"
    assert outputs(again, bobs) == ["of bob\n"]
    assert again.get(f"/applications/{anns}").status_code == 404
    kept = [path.read_text() for path in again.state.glob("abandoned/*/*/*/stdout.log")]
    assert sorted(kept) == sorted(["the secret of ann\n", f"{pid}\n"])
    assert "put aside" in (again.state / "server.log").read_text()


def test_after_a_backup_is_put_in_place_names_and_outputs_are_not_mixed_up(serve, tmp_path):
    server = serve()
    first = server.run("echo first")
    server.finished(first)
    copy = tmp_path / "copy"
    backup = [sys.executable, "-m", "fairshare", "backup", str(copy), "--state", str(server.state)]
    subprocess.run(backup, check=True, timeout=60, capture_output=True)
    lost = server.run("echo the secret of ann")
    server.finished(lost)
    running = server.run("echo $$; exec sleep 600")
    pid = int(server.until(lambda: server.log(server.running(running)["id"])))
    server.end(signal.SIGKILL)
    journal_away(server)
    for path in copy.iterdir():
        shutil.copy(path, server.state / path.name)

    again = serve()
    assert outputs(again, first) == ["first\n"]
    bobs = again.run("echo of bob")
    assert bobs not in (first, lost)
    again.finished(bobs)
    assert outputs(again, bobs) == ["of bob\n"]
    assert again.get(f"/applications/{lost}").status_code == 404
    assert not (again.state / "containers" / lost).exists()
    log = (again.state / "server.log").read_text()
    assert "put aside (2)" in log
    assert lost in log
    assert running in log
    wait_until_gone(pid)


def test_a_task_that_kills_its_supervisor_fails_as_often_as_it_may(serve):
    server = serve()
    name = server.run("kill -9 $PPID", max_attempts=2)
    assert server.finished(name)["state"] == "FAILED"
    assert len(server.containers(name)) == 2


def test_a_server_whose_engine_fails_stops_and_says_why(serve, monkeypatch, tmp_path):
    """What fails here is a fault of ours that nobody foresaw; the containers live on."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import os, pathlib\n"
        "from fairshare.engines.local import liveness\n"
        "settle = liveness.Liveness.settle\n"
        "def fail(self, watched):\n"
        f"    if pathlib.Path({str(tmp_path / 'now')!r}).exists(): raise KeyError('a fault')\n"
        "    settle(self, watched)\n"
        "liveness.Liveness.settle = fail\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(broken))
    server = serve(interpreter=True)
    name = server.run("echo $$; exec sleep 1000")
    pid = int(server.until(lambda: server.log(server.running(name)["id"])))
    (tmp_path / "now").touch()
    server.run("true")
    code, stderr = server.wait()
    assert code == 1
    assert "a fault" in stderr
    os.kill(pid, 0)
    monkeypatch.delenv("PYTHONPATH")
    again = serve()
    assert again.running(name)
    again.post("/shutdown", json={"stop_containers": True})
    wait_until_gone(pid)
