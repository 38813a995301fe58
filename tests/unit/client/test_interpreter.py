"""Which Python runs calls, and how it finds the modules of the program that makes them."""

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import cloudpickle
import pytest

from fairshare.api.cluster import Cluster
from fairshare.client.errors import InterpreterUnusable
from fairshare.client.interpreter import (
    Interpreter,
    check_interpreter,
    choose_interpreter,
    modules_beside_script,
)
from fairshare.this_machine import this_machine

HERE = Cluster(files_of=this_machine())


def test_calls_on_this_machine_run_on_the_interpreter_of_the_program():
    chosen = choose_interpreter(HERE)
    assert (chosen.python, chosen.by_value) == (sys.executable, False)


def test_calls_elsewhere_run_on_the_interpreter_of_the_engine_and_modules_go_along():
    assert choose_interpreter(Cluster()) == Interpreter(None, (), by_value=True)
    assert choose_interpreter(Cluster(), "/opt/python").python == "/opt/python"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("#!/bin/sh\necho 2.7\n", "functions travel between equal minor versions only"),
        ("#!/bin/sh\necho no module >&2; exit 1\n", "need Python with cloudpickle: no module"),
        (None, "cannot be run: .*No such file"),
    ],
)
def test_an_interpreter_that_cannot_run_calls_is_refused_before_anything_is_sent(
    tmp_path, content, reason
):
    python = tmp_path / "python"
    if content is not None:
        python.write_text(content)
        python.chmod(0o755)
    with pytest.raises(InterpreterUnusable, match=reason):
        choose_interpreter(HERE, str(python))


def test_an_interpreter_is_named_by_its_path():
    check_interpreter(sys.executable)
    with pytest.raises(InterpreterUnusable, match="not an absolute path"):
        check_interpreter("python3")


def test_paths_come_before_those_that_a_user_gives():
    chosen = Interpreter("/p", ("/script",))
    assert chosen.environment({}) == {"PYTHONPATH": "/script"}
    given = chosen.environment({"PYTHONPATH": "/mine", "A": "1"})
    assert given == {"PYTHONPATH": "/script:/mine", "A": "1"}
    assert Interpreter().environment({}) == {}


PROGRAM = """
import pickle, sys
import cloudpickle
from fairshare.client.interpreter import Interpreter, paths_of_modules
import helper
from package import inner

def call():
    return helper.VALUE + inner.double(1)

if sys.argv[1] == "paths":
    print(paths_of_modules()[0])
else:
    with Interpreter(by_value=True).pickling():
        sys.stdout.buffer.write(cloudpickle.dumps(call))
    assert not cloudpickle.list_registry_pickle_by_value()
"""


@pytest.fixture
def script(tmp_path):
    folder = tmp_path / "project"
    (folder / "package").mkdir(parents=True)
    (folder / "helper.py").write_text("VALUE = 40\n")
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "inner.py").write_text("def double(n):\n    return 2 * n\n")
    (folder / "program.py").write_text(textwrap.dedent(PROGRAM))
    return folder / "program.py"


def output_of(script, argument):
    line = [sys.executable, str(script), argument]
    return subprocess.run(line, capture_output=True, check=True, timeout=60).stdout


def test_the_directory_of_the_script_is_among_the_paths(script):
    assert output_of(script, "paths").decode().strip() == str(script.parent)


def test_modules_beside_the_script_travel_by_value_where_they_have_to(script):
    function = pickle.loads(output_of(script, "value"))  # here, where there is no `helper`
    assert function() == 42


def test_modules_of_the_installation_never_travel():
    main = type(sys)("__main__")
    main.__file__ = str(Path(sys.prefix) / "bin" / "pytest")
    assert modules_beside_script({"__main__": main, "cloudpickle": cloudpickle}) == ()
