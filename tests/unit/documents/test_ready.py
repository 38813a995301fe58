"""Threads may decode a class at once that was never decoded before."""

import ast
import subprocess
import sys
from pathlib import Path

import fairshare.client

THREADS = """
import sys
import threading

import msgspec

from fairshare.client.answers import understood

sys.setswitchinterval(1e-6)
NAMES = [f"f{number}" for number in range(20)]
inner = {name: [{"x": {"a": 1, "b": "c"}}] for name in NAMES}
answer = {name: inner for name in NAMES}
for _ in range(150):
    Leaf = msgspec.defstruct("Leaf", [("a", int), ("b", str)])
    Middle = msgspec.defstruct("Middle", [(name, list[dict[str, Leaf]]) for name in NAMES])
    forms = [
        msgspec.defstruct(f"Form{number}", [(name, Middle | None) for name in NAMES])
        for number in range(4)
    ]
    together = threading.Barrier(len(forms))

    def decode(form):
        together.wait()
        assert understood(answer, form).f19.f19[0]["x"] == Leaf(1, "c")

    threads = [threading.Thread(target=decode, args=(form,)) for form in forms]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("all decoded")
"""


def test_threads_decode_classes_that_have_others_in_common():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", THREADS],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all decoded\n", "")


def test_the_client_decodes_only_what_is_ready():
    """A program may have a client in each of its threads."""
    for path in Path(fairshare.client.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).startswith("msgspec."):
                continue
            forms = [word.value for word in call.keywords if word.arg == "type"]
            if ast.unparse(call.func) == "msgspec.convert":
                forms.append(call.args[1])
            assert all(ast.unparse(form).startswith("ready(") for form in forms), ast.unparse(call)
