"""Threads may decode a class at once that was never decoded before."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fairshare

EXAMPLES = Path(__file__).parents[3] / "examples"

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


FIRST = """
import sys
import threading
from functools import partial

import fairshare

sys.setswitchinterval(1e-6)
conf, workload, scenarios = sys.argv[1:]
together, done = threading.Barrier(10), []


def call(first):
    together.wait()
    done.append(first())


firsts = [
    partial(fairshare.simulate, conf, workload, faults="tasks=0.5"),
    partial(fairshare.plan, workload, nodes="2x", present=conf),
    partial(fairshare.lint, conf),
    partial(fairshare.check, scenarios),
    partial(fairshare.simulate, conf, workload, scheduler="fifo"),
]
threads = [threading.Thread(target=call, args=(first,)) for first in firsts * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(done))
"""


@pytest.mark.parametrize("conf", ["three-teams", "three-teams-capacity", "three-teams-mapreduce"])
def test_threads_simulate_plan_check_and_lint_first_at_once(conf, tmp_path):
    workload = tmp_path / "workload.yaml"
    workload.write_text(
        "nodes: [{name: n1, resources: {memory-mb: 8192, vcores: 4}}]\n"
        "applications: [{at: 0s, user: ann, name: job, groups: [{name: g, count: 4,"
        " resources: {memory-mb: 1024, vcores: 1}, duration: 1m}]}]\n"
    )
    paths = [str(path) for path in (EXAMPLES / conf, workload, EXAMPLES / "scenarios")]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", FIRST, *paths],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n", "")


def test_threads_decode_classes_that_have_others_in_common():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", THREADS],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all decoded\n", "")


@pytest.mark.parametrize("room", ["client", "lab", "runtime/journal"])
def test_what_the_threads_of_a_program_may_call_decodes_only_what_is_ready(room):
    """A program may have a client, and simulate and plan, in each of its threads."""
    paths = list((Path(fairshare.__file__).parent / room).rglob("*.py"))
    assert paths
    for path in paths:
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).startswith("msgspec."):
                continue
            forms = [word.value for word in call.keywords if word.arg == "type"]
            if ast.unparse(call.func) == "msgspec.convert":
                forms.append(call.args[1])
            elif ast.unparse(call.func).endswith(".Decoder"):
                forms += call.args
            assert all(ast.unparse(form).startswith("ready(") for form in forms), ast.unparse(call)
