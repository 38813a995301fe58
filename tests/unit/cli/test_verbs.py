import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, TextIOWrapper

import httpx
import pytest
from click.testing import CliRunner

from fairshare import __version__
from fairshare.cli import main
from fairshare.cli.verbs import MEANT, VERBS, fairshare

APPLICATION = "application_1700000000000_0007"
CONTAINER = "container_1700000000000_0007_01_000007"

CALLS = {
    "submit": ["submit", "--", "true"],
    "status": ["status"],
    "apps": ["apps"],
    "queues": ["queues"],
    "nodes": ["nodes"],
    "logs": ["logs", APPLICATION],
    "kill": ["kill", APPLICATION],
    "move": ["move", APPLICATION, "root.default"],
    "stop-container": ["stop-container", CONTAINER],
    "top": ["top"],
    "shutdown": ["shutdown"],
}
"""How each verb that needs a server can be called."""

PATHS = {
    "submit": "POST /applications",
    "status": "/cluster",
    "apps": "/applications",
    "queues": "/queues",
    "nodes": "/nodes",
    "logs": f"/applications/{APPLICATION}/containers",
    "kill": f"/applications/{APPLICATION}/kill",
    "move": f"/applications/{APPLICATION}/move",
    "stop-container": f"/containers/{CONTAINER}/stop",
    "top": "/queues",
    "shutdown": "/shutdown",
}


def test_the_help_names_every_verb_that_is_installed(run):
    result = run("--help")
    assert result.exit_code == 0
    listed = re.findall(r"^  ([a-z-]+)  ", result.output.partition("\nStart:\n")[2], re.M)
    assert set(CALLS) <= set(listed) <= set(VERBS)
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "caf\udce9"),
        ("kill", "caf\udce9"),
        ("admin", "undrain", "caf\udce9"),
        ("cron", "delete", "caf\udce9"),
        ("submit", "--name", "caf\udce9", "--", "true"),
        ("submit", "--", "ls", "caf\udce9"),
    ],
)
def test_an_argument_that_is_not_utf_8_is_refused_by_its_text(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith("Error: 'caf\\udce9' is not text in UTF-8")


def loaded_by(*arguments, among):
    """Which of some modules the program has loaded, as text; and what it wrote to stderr."""
    script = (
        "import sys\n"
        f"sys.argv = {['fairshare', *arguments]!r}\n"
        "from fairshare.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(sorted({among!r} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),  # without COLUMNS, which the library readline adds for processes
    )
    return done.stdout.splitlines()[-1], done.stderr


def test_the_help_loads_nothing_that_is_slow():
    slow = {"httpx", "rich", "msgspec", "yaml", "cloudpickle", "starlette", "uvicorn", "sqlite3"}
    assert loaded_by("--help", among=slow | {"asyncio"})[0] == "[]"


def test_a_question_loads_nothing_that_only_calls_need():
    slow = {"httpx", "yaml", "cloudpickle", "logging", "subprocess", "sqlite3", "asyncio"}
    slow |= {"http.client", "email", "ssl", "hashlib", "csv", "difflib", "json", "shutil"}
    slow |= {"sysconfig", "stringprep", "fractions", "getpass", "fairshare.client.interpreter"}
    slow |= {"rich.console"}
    loaded, said = loaded_by("apps", "--url", "http://127.0.0.1:1", among=slow)
    assert "127.0.0.1:1" in said
    assert loaded == "[]"


REASON = {"cause": "x", "sentence": "It waits.", "remedy": "", "group": "map", "containers": 2}


@pytest.fixture
def served(cluster):
    """The URL at which the fake cluster answers other processes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            url = f"http://127.0.0.1{self.path}"
            answer = cluster(httpx.Request(self.command, url, content=body))
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "arguments",
    [
        ["apps"],
        ["apps", "--json"],
        ["queues"],
        ["nodes"],
        ["status"],
        ["status", APPLICATION],
        ["why", APPLICATION],
        ["submit", "--wait", "--", "true"],
    ],
    ids=" ".join,
)
def test_what_is_printed_to_a_pipe_needs_no_rich(served, cluster, arguments, monkeypatch):
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    cluster.answers[f"/applications/{APPLICATION}"]["state"] = "FINISHED"
    cluster.answers["POST /applications"] = {"id": APPLICATION}
    cluster.answers[f"/applications/{APPLICATION}/reasons"] = {"reasons": [REASON]}
    verb, *others = arguments
    slow = {"rich.console", "rich.text", "httpx", "ssl"}
    loaded, said = loaded_by(verb, "--url", served, *others, among=slow)
    assert "Error" not in said
    assert loaded == "[]"
    assert cluster.calls


@pytest.mark.parametrize("verb", ["check", "record"])
def test_a_verb_that_runs_scenarios_loads_nothing_of_the_network(verb):
    assert loaded_by(verb, "--help", among={"ssl", "urllib.request"})[0] == "[]"


def test_a_verb_whose_module_is_missing_does_not_exist(run, monkeypatch):
    monkeypatch.setitem(VERBS, "dance", ("fairshare.cli.dance", "Dance."))
    assert "dance" not in run("--help").output
    result = run("dance")
    assert (result.exit_code, "no verb 'dance'" in result.output) == (2, True)


def test_a_verb_that_is_nearly_right_is_suggested(run):
    result = run("quues")
    assert result.exit_code == 2
    assert "there is no verb 'quues'; did you mean queues?" in result.output


@pytest.mark.parametrize("word", MEANT)
def test_a_word_of_another_scheduler_gets_a_hint_by_its_meaning(run, word):
    result = run(word)
    assert result.exit_code == 2
    assert f"there is no verb '{word}'; did you mean {MEANT[word]}?" in result.output
    verbs = {meaning.split()[0] for meaning in re.split(", | or ", MEANT[word])}
    assert verbs <= {*VERBS, "--help", "--version"}


def test_python_m_fairshare_is_the_same_program():
    command = [sys.executable, "-m", "fairshare", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"fairshare {__version__}\n"


def test_a_character_unknown_to_the_terminal_causes_no_failure(monkeypatch):
    terminal = TextIOWrapper(BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "argv", ["fairshare", "--version"])
    with pytest.raises(SystemExit):
        main()
    terminal.write("größe")
    terminal.flush()
    assert terminal.buffer.getvalue().endswith(b"gr??e")


def test_a_machine_without_any_server_is_exit_code_3(monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRSHARE_URL", raising=False)
    monkeypatch.setenv("FAIRSHARE_STATE", str(tmp_path))
    result = CliRunner().invoke(fairshare, ["queues"])
    assert result.exit_code == 3
    assert "start one with `fairshare serve --conf DIR`, or set FAIRSHARE_URL" in result.stderr


@pytest.mark.parametrize("verb", CALLS)
def test_without_a_server_a_verb_says_how_to_start_one(run, cluster, verb):
    for path in cluster.answers:
        cluster.answers[path] = httpx.ConnectError("refused")
    cluster.answers[PATHS[verb]] = httpx.ConnectError("refused")
    result = run(*CALLS[verb])
    assert result.exit_code == 3
    assert result.stderr == (
        "Error: no server at http://127.0.0.1:8188: start one with `fairshare serve --conf DIR`\n"
    )


@pytest.mark.parametrize("verb", CALLS)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_refusal_is_one_sentence_and_exit_code_1(run, cluster, verb, as_json):
    refused = httpx.Response(409, json={"code": "not-now", "message": "not now: come again"})
    cluster.answers[PATHS[verb]] = refused
    name, *arguments = CALLS[verb]
    result = run(name, *(["--json"] if as_json else []), *arguments)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith("not now: come again")
    assert "Traceback" not in result.output


@pytest.mark.parametrize("verb", CALLS)
def test_an_invalid_answer_is_reported_as_such(run, cluster, verb):
    cluster.answers[PATHS[verb]] = httpx.Response(200, text="<html>")
    result = run(*CALLS[verb])
    assert result.exit_code == 1
    assert "see whether it is a fairshare server" in result.stderr


@pytest.mark.parametrize("verb", sorted(set(CALLS)))
def test_a_verb_explains_itself_without_a_server(run, verb):
    result = run(verb, "--help")
    assert result.exit_code == 0
    assert "--json" in result.output
    assert "--url" in result.output


@pytest.mark.parametrize("verb", sorted(set(CALLS)))
def test_an_option_that_is_not_there_is_a_usage_error(run, cluster, verb):
    result = run(verb, "--nonsense")
    assert (result.exit_code, cluster.calls) == (2, [])


@pytest.mark.parametrize("verb", ["logs", "kill", "move", "stop-container"])
def test_a_missing_argument_is_a_usage_error(run, cluster, verb):
    assert (run(verb).exit_code, cluster.calls) == (2, [])


def test_ctrl_c_ends_a_verb_with_130(run, cluster):
    cluster.answers["/queues"] = KeyboardInterrupt()
    assert run("queues").exit_code == 130


def test_a_file_that_cannot_be_read_causes_no_traceback(run, cluster):
    cluster.answers["/queues"] = PermissionError(13, "Permission denied", "/some/file")
    result = run("queues")
    assert result.exit_code == 1
    assert "Permission denied" in result.stderr


def test_what_a_message_holds_cannot_steer_the_terminal(run, cluster):
    message = "no queue '\x1b[2Jx'"
    cluster.answers["/queues"] = httpx.Response(409, json={"code": "x", "message": message})
    assert run("queues").stderr == "Error: no queue '?[2Jx'\n"


def test_the_url_can_be_given(run, cluster):
    cluster.answers["/nodes"] = httpx.ConnectError("refused")
    result = run("nodes", "--url", "http://elsewhere:1234/")
    assert "no server at http://elsewhere:1234:" in result.stderr


def test_an_invalid_url_is_reported(run):
    result = run("nodes", "--url", "elsewhere:1234")
    assert result.exit_code == 3
    assert "write http://HOST:PORT" in result.stderr
