"""Which container has which GPU, and how it is told."""

import pytest
from tests.e2e.local_engine.conftest import shell

from fairshare.engines.local.gpus.engine import AssignedGpus
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import StartFailure
from fairshare.engines.local.preparation import gpu_variables

GPU = "yarn.io/gpu"


def order(amount: int, node: str = "local", kind: str = GPU):
    found = shell(1, "true", node=node)
    found.resources[kind] = amount
    return found


def launch(*gpus: str) -> Launch:
    return Launch(1, "c", (), {}, "", 0, "watch", gpus=gpus)


@pytest.fixture
def assigned():
    return AssignedGpus({"local": {GPU: ["0", "1"], f"{GPU}-a100": ["2"]}, "other": {GPU: ["3"]}})


def test_a_container_gets_the_first_free_gpus_of_its_type_and_node(assigned):
    assert assigned.choose(order(1)) == ("0",)
    assert assigned.choose(order(2)) == ("0", "1")
    assert assigned.choose(order(1, kind=f"{GPU}-a100")) == ("2",)
    assert assigned.choose(order(1, "other")) == ("3",)
    assert assigned.choose(order(0)) == ()


def test_a_gpu_is_given_to_the_next_one_only_when_it_was_left(assigned):
    first = launch("0")
    assigned.enter(first)
    assert assigned.choose(order(1)) == ("1",)
    assigned.enter(launch("1"))
    assert assigned.choose(order(1)) is None
    assigned.leave(first)
    assert assigned.choose(order(1)) == ("0",)


def test_a_gpu_that_two_containers_of_an_earlier_server_have_is_free_when_both_left(assigned):
    for _ in range(2):
        assigned.enter(launch("0"))
    assigned.leave(launch("0"))
    assert assigned.choose(order(1)) == ("1",)


def test_more_gpus_than_the_node_has_are_refused(assigned):
    with pytest.raises(StartFailure, match=r"2 of yarn.io/gpu are granted to it, and other has 1"):
        assigned.choose(order(2, "other"))


def test_the_launch_file_keeps_the_gpus_and_earlier_files_have_none():
    found = launch("0", "GPU-1")
    value = found._asdict()
    assert Launch.decode({**value, "gpus": ["0", "GPU-1"]}).gpus == ("0", "GPU-1")
    del value["gpus"]
    assert Launch.decode(value).gpus == ()
    with pytest.raises(TypeError, match="name of a GPU"):
        Launch.decode({**value, "gpus": [0]})


def test_each_vendors_programs_get_the_gpus_in_their_own_variables():
    nvidia = gpu_variables(("2", "3"), "nvidia")
    assert nvidia["CUDA_VISIBLE_DEVICES"] == nvidia["NVIDIA_VISIBLE_DEVICES"] == "2,3"
    assert nvidia["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert nvidia["ROCR_VISIBLE_DEVICES"] == ""
    amd = gpu_variables(("2", "3"), "amd")
    assert (amd["ROCR_VISIBLE_DEVICES"], amd["HIP_VISIBLE_DEVICES"]) == ("2,3", "0,1")
    assert amd["CUDA_VISIBLE_DEVICES"] == "0,1"
    unknown = gpu_variables(("2",), "")
    assert unknown["CUDA_VISIBLE_DEVICES"] == unknown["ROCR_VISIBLE_DEVICES"] == "2"
    assert unknown["FAIRSHARE_GPUS"] == "2"


def test_a_container_without_gpus_sees_none():
    assert gpu_variables((), "nvidia") == {
        "FAIRSHARE_GPUS": "",
        "CUDA_VISIBLE_DEVICES": "",
        "NVIDIA_VISIBLE_DEVICES": "void",
        "ROCR_VISIBLE_DEVICES": "",
        "HIP_VISIBLE_DEVICES": "-1",
    }
