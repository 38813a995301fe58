"""What podman, docker and apptainer are called with."""

from pathlib import Path

import pytest

from fairshare.core.model.work import Command
from fairshare.engines.local.accounts import Account
from fairshare.engines.local.images import Images
from fairshare.engines.local.limits import ContainerLimits
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.protocol import LaunchOrder

LIMITS = ContainerLimits(True, "watch", (), None, 0, "/group", 100)
ANN = Account("ann", 1001, 1001, "/home/ann", "/bin/sh")


def wrapped(tmp_path: Path, program: str, gpus=(), vendor=None, account=None, **command):
    path = tmp_path / program
    path.write_text("")
    path.chmod(0o755)
    order = LaunchOrder(
        container=1,
        container_name="container_1_0001_01_000002",
        application_name="application_1_0001",
        node="local",
        user="ann",
        memory_mb=512,
        vcores=2,
        command=Command(
            ("python", "train.py"), environment={"MODE": "fast"}, image="python:3.12", **command
        ),
        environment={"FAIRSHARE_TOKEN": "secret"},
        launched_ms=7,
    )
    environment = {"PATH": "/bin", "HOME": "/root", "MODE": "fast", "FAIRSHARE_TOKEN": "secret"}
    images = Images(str(path), ("--security-opt=x",))
    return images.wrapped(order, environment, Path("/c"), LIMITS, account, gpus, vendor, (3, 7))


def has(arguments, *words):
    return any(arguments[at : at + len(words)] == words for at in range(len(arguments)))


def test_docker_gets_the_limits_which_its_daemon_holds(tmp_path):
    found = wrapped(tmp_path, "docker", gpus=("0", "3"), vendor="nvidia", account=ANN)
    arguments = found.arguments
    for words in [
        ("--memory", "512m", "--memory-swap", "512m"),
        ("--pids-limit", "100"),
        ("--cpu-shares", "2048"),
        ("--cpuset-cpus", "3,7"),
        ("--user", "1001:1001"),
        ("--gpus", '"device=0,3"'),
        ("--env", "MODE"),
        ("--security-opt=x", "python:3.12", "python", "train.py"),
    ]:
        assert has(arguments, *words), words
    assert "--init" in arguments
    assert found.at_end[1:] == ("rm", "--force", "fairshare-container_1_0001_01_000002-7")
    assert found.passes_signals


def test_podman_under_an_account_keeps_its_user_and_divides_no_cpu(tmp_path):
    found = wrapped(tmp_path, "podman", account=ANN, gpus=("1",), vendor="nvidia")
    assert has(found.arguments, "--userns", "keep-id")
    assert has(found.arguments, "--device", "nvidia.com/gpu=1")
    assert "--cpu-shares" not in found.arguments


def test_gpus_of_amd_are_device_files(tmp_path):
    found = wrapped(tmp_path, "podman", gpus=("1",), vendor="amd")
    assert has(found.arguments, "--device", "/dev/kfd", "--device", "/dev/dri/renderD129")


def test_no_value_of_a_variable_is_on_a_command_line(tmp_path):
    for program in ("podman", "docker", "apptainer"):
        found = wrapped(tmp_path, program)
        assert not [word for word in found.arguments if "secret" in word or "fast" in word]


def test_apptainer_gets_files_as_they_are_and_other_images_from_a_registry(tmp_path):
    found = wrapped(tmp_path, "apptainer", mounts=("/data:/data:ro",), gpus=("0",), vendor="amd")
    assert has(found.arguments, "docker://python:3.12", "python", "train.py")
    assert has(found.arguments, "--bind", "/data:/data:ro")
    assert "--rocm" in found.arguments
    assert found.environment["APPTAINERENV_MODE"] == "fast"
    assert "APPTAINERENV_FAIRSHARE_TOKEN" not in found.environment  # it would be on the disk
    assert not found.passes_signals


def test_without_a_program_a_command_in_an_image_cannot_start(tmp_path):
    images = Images("none")
    assert images.attributes == {}
    order = LaunchOrder(1, "c", "a", "n", "u", 1, 1, Command(("true",), image="x"))
    with pytest.raises(StartFailure, match="runs no images"):
        images.wrapped(order, {}, Path("/c"), LIMITS, None, (), None)


def test_a_program_that_is_not_there_is_named():
    assert Images("/nowhere/podman").problem == (
        "image: there is no program for images here; it would be /nowhere/podman"
    )
