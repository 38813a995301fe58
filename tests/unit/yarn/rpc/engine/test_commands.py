"""Our commands reach a program as they were given, through the script that a NodeManager writes."""

import base64
import pickle
import subprocess
from pathlib import Path

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.work import Command, Payload
from fairshare.engines.protocol import LaunchOrder
from fairshare.yarn.rpc.engine.launch import own_context, variables_of

NASTY = [
    "plain",
    "",
    "two words",
    "$HOME `id` \\ \" ' !",
    "{{HOME}} {{{x}}} }}{{",
    "<LOG_DIR> <CPS> <ADD_OPENS> <<LOG_DIR>",
    "line\nbreak\ttab",
    "*.py;exit 3 #",
    "ümläut",
    "\\\\",
    "${HOME}",
]


def order_of(command: Command, **other: object) -> LaunchOrder:
    return LaunchOrder(
        container=container_id(1, 1, 2),
        container_name="container_1_0001_01_000002",
        application_name="application_1_0001",
        node="host:1",
        user="ann",
        memory_mb=512,
        vcores=1,
        command=command,
        **other,  # type: ignore[arg-type]
    )


def as_a_node_runs_it(
    order: LaunchOrder, folder: Path, call: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """What ContainerLaunch writes, after its replacements, and runs."""
    context = own_context(order, call)

    def replaced(text: str) -> str:
        for name, value in (("<LOG_DIR>", str(folder)), ("<CPS>", ":"), ("<ADD_OPENS>", "OPENS")):
            text = text.replace(name, value)
        return text.replace("{{", "$").replace("}}", "")

    lines = ["#!/bin/bash"]
    if context.tokens:
        (folder / "container_tokens").write_bytes(context.tokens)
    lines += [f'export HADOOP_TOKEN_FILE_LOCATION="{folder}/container_tokens"']
    lines += [f'export LOG_DIRS="{folder}"']
    lines += [f'export {one.key}="{replaced(one.value)}"' for one in context.environment]
    lines += [f'exec /bin/bash -c "{replaced(context.command[0])}"']
    script = folder / "launch_container.sh"
    script.write_text("\n".join(lines) + "\n")
    return subprocess.run(["/bin/bash", script], check=False, text=True, cwd=folder, timeout=30)


@pytest.mark.parametrize("text", NASTY)
def test_arguments_and_variables_arrive_as_they_were_given(text: str, tmp_path: Path) -> None:
    command = Command(
        ("/bin/sh", "-c", 'printf %s "$1"; printf %s "$GIVEN" >&2', "name", text),
        environment={"GIVEN": text},
    )
    assert as_a_node_runs_it(order_of(command), tmp_path).returncode == 0
    assert (tmp_path / "stdout").read_text() == text
    assert (tmp_path / "stderr").read_text() == text


@settings(max_examples=examples(40), deadline=None)
@given(text=st.text(st.sampled_from("a{}<>LOG_DIRCPS$`\"'\\ \n&|;()!"), max_size=30))
def test_any_argument_arrives_as_it_was_given(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("container")
    command = Command(("/usr/bin/printf", "%s", text))
    assert as_a_node_runs_it(order_of(command), folder).returncode == 0
    assert (folder / "stdout").read_text() == text


def test_the_exit_code_is_the_commands_own(tmp_path: Path) -> None:
    command = Command(("/bin/sh", "-c", "exit 7"))
    assert as_a_node_runs_it(order_of(command), tmp_path).returncode == 7


def test_a_command_runs_in_its_directory(tmp_path: Path) -> None:
    inner = tmp_path / "it's {{here}}"
    inner.mkdir()
    command = Command(("/bin/pwd",), directory=str(inner))
    assert as_a_node_runs_it(order_of(command), tmp_path).returncode == 0
    assert (tmp_path / "stdout").read_text() == f"{inner}\n"


def test_a_command_is_ended_when_its_time_is_over(tmp_path: Path) -> None:
    order = order_of(Command(("/bin/sleep", "60")), time_limit_ms=100)
    assert as_a_node_runs_it(order, tmp_path).returncode == 124


def test_a_command_knows_its_container() -> None:
    order = order_of(Command(("true",)), environment={"FAIRSHARE_TASK_INDEX": "3"})
    assert variables_of(order) == {
        "FAIRSHARE_APPLICATION": "application_1_0001",
        "FAIRSHARE_CONTAINER": "container_1_0001_01_000002",
        "FAIRSHARE_MEMORY_MB": "512",
        "FAIRSHARE_NODE": "host:1",
        "FAIRSHARE_TASK_INDEX": "3",
        "FAIRSHARE_VCORES": "1",
    }


def test_a_driver_gets_its_token_from_the_file_of_tokens_and_the_script_does_not_show_it(
    tmp_path: Path,
) -> None:
    command = Command(("/bin/sh", "-c", 'printf %s "$FAIRSHARE_TOKEN"'), directory=str(tmp_path))
    order = order_of(command, environment={"FAIRSHARE_TOKEN": "fsd_secret"})
    assert as_a_node_runs_it(order, tmp_path, b"\n\0\xffcall").returncode == 0
    assert (tmp_path / "stdout").read_text() == "fsd_secret"
    assert "fsd_secret" not in (tmp_path / "launch_container.sh").read_text()


def call_on_a_node(
    folder: Path, function: object, *arguments: object
) -> subprocess.CompletedProcess[str]:
    call = cloudpickle.dumps((function, arguments, {}))
    return as_a_node_runs_it(order_of(Command(payload=Payload("0" * 64, len(call)))), folder, call)


def test_a_python_call_leaves_its_result_in_base64_beside_the_logs(tmp_path: Path) -> None:
    def double(text: str) -> str:
        print("called")
        return 2 * text

    assert call_on_a_node(tmp_path, double, "{{a}}" * 100).returncode == 0
    assert (tmp_path / "stdout").read_text() == "called\n"
    value = pickle.loads(base64.b64decode((tmp_path / "result").read_bytes(), validate=True))
    assert value == "{{a}}" * 200
    assert {path.name for path in tmp_path.iterdir()} == {
        *("container_tokens", "launch_container.sh", "result", "stderr", "stdout")
    }


def test_a_python_call_that_raises_leaves_no_result_and_its_traceback(tmp_path: Path) -> None:
    assert call_on_a_node(tmp_path, int, "no number").returncode == 1
    assert "invalid literal for int()" in (tmp_path / "stderr").read_text()
    assert not (tmp_path / "result").exists()


def test_a_python_call_says_what_the_node_needs_if_it_has_no_such_interpreter(
    tmp_path: Path,
) -> None:
    call = cloudpickle.dumps((int, (), {}))
    command = Command(
        payload=Payload("0" * 64, len(call)),
        environment={"FAIRSHARE_PYTHON": "/no/python", "PATH": "/nowhere"},
    )
    assert as_a_node_runs_it(order_of(command), tmp_path, call).returncode == 127
    words = (tmp_path / "stderr").read_text()
    assert "/no/python" in words
    assert "FAIRSHARE_PYTHON" in words
