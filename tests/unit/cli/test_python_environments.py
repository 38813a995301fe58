"""What it means to run a command in a virtualenv, in a conda environment, or with a Python."""

import pytest

from fairshare.api.work import Submission, TaskGroup
from fairshare.cli.surroundings import conda, of_interpreter, virtualenv
from fairshare.client.errors import NotHere


@pytest.fixture
def environment(tmp_path):
    directory = tmp_path / "envs" / "vision"
    (directory / "bin").mkdir(parents=True)
    python = directory / "bin" / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    return directory


def test_the_programs_of_a_virtualenv_come_first(environment):
    chosen = virtualenv(str(environment))
    chosen.check()
    assert chosen.variables({"PATH": "/bin"}) == {
        "VIRTUAL_ENV": str(environment),
        "PATH": f"{environment}/bin:/bin",
    }
    assert chosen.variables({})["PATH"] == f"{environment}/bin:/usr/local/bin:/usr/bin:/bin"


def test_a_directory_without_a_python_is_not_an_environment(tmp_path):
    with pytest.raises(NotHere, match=r"--venv .*bin/python is not a program"):
        virtualenv(str(tmp_path)).check()


def test_a_conda_environment_has_a_name_or_a_path(environment, tmp_path):
    shell = {"CONDA_ENVS_DIRS": str(tmp_path / "envs")}
    for text in ("vision", str(environment)):
        variables = conda(text, shell).variables({"PATH": "/bin"})
        assert variables["CONDA_PREFIX"] == str(environment)
        assert variables["CONDA_DEFAULT_ENV"] == text
        assert variables["PATH"] == f"{environment}/bin:/bin"
    with pytest.raises(NotHere, match=r"no conda environment of this name \(known: .*vision"):
        conda("visoin", shell)


def test_a_python_replaces_the_first_word_python_only(environment):
    (environment / "pyvenv.cfg").write_text("")
    python = str(environment / "bin" / "python")
    chosen = of_interpreter(python)
    assert chosen.own == {"VIRTUAL_ENV": str(environment)}
    lines = (("python3", "train.py"), ("make", "python"), ("/usr/bin/python3", "x"))
    submission = Submission(tasks=tuple(TaskGroup(arguments=line) for line in lines))
    found = [group.arguments for group in chosen.started_by(submission).tasks]
    assert found == [(python, "train.py"), *lines[1:]]
    with pytest.raises(NotHere, match="no such program in PATH"):
        of_interpreter("no-such-python")
