"""Which GPUs are offered, as which type, and by which node."""

import pytest

from fairshare.engines.local.gpus.chosen import (
    ChosenGpus,
    assigned_elsewhere,
    choose,
    per_node,
    type_of,
)
from fairshare.engines.local.gpus.found import AMD, NVIDIA, Gpu
from fairshare.errors import EngineError

FOUND = tuple(
    Gpu(str(index), NVIDIA, model, f"GPU-{index}aa", f"0000:0{index}:00.0")
    for index, model in enumerate(["Tesla T4", "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB"])
)
GPU = "yarn.io/gpu"


def names(chosen: ChosenGpus | None) -> list[str]:
    assert chosen is not None
    return [gpu.name for gpu in chosen.all]


def test_auto_offers_all_that_were_found_and_a_number_the_first_of_them():
    assert names(choose("auto", FOUND, [GPU], {})) == ["0", "1", "2"]
    two = choose(2, FOUND, [GPU], {})
    assert names(two) == ["0", "1"]
    assert two is not None
    assert two.others == FOUND[2:]
    assert choose("none", FOUND, [GPU], {}) is None


def test_a_machine_without_gpus_offers_none_of_them():
    assert choose("auto", (), [GPU], {}) == ChosenGpus({GPU: ()})


@pytest.mark.parametrize(
    ("visible", "offered"),
    [("2,0", ["2", "0"]), ("", []), ("GPU-1aa", ["1"]), ("0,7", ["0"])],
)
def test_auto_offers_only_what_the_server_itself_may_use(visible, offered):
    assert names(choose("auto", FOUND, [GPU], {"CUDA_VISIBLE_DEVICES": visible})) == offered


def test_the_variable_for_amds_gpus_is_rocms():
    found = (Gpu("0", AMD), Gpu("1", AMD))
    environment = {"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert names(choose("auto", found, [GPU], environment)) == ["1"]


def test_names_choose_gpus_by_index_or_uuid_and_a_part_of_one_as_it_is_called():
    chosen = choose(("2", "GPU-0aa", "MIG-77"), FOUND, [GPU], {})
    assert names(chosen) == ["2", "GPU-0aa", "MIG-77"]
    assert chosen is not None
    assert chosen.all[1].model == "Tesla T4"


def test_names_are_believed_where_no_gpu_can_be_listed():
    assert names(choose(("0", "1"), (), [GPU], {})) == ["0", "1"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (("0", "7"), r"no GPU '7' on this machine: it has 3 GPUs \(0, 1, 2\)"),
        (("GPU-99",), "no GPU 'GPU-99'"),
        (4, "gpus = 4, and this machine has 3 GPUs"),
        (("1", "GPU-1aa"), "names one GPU twice, the second time as GPU-1aa"),
    ],
)
def test_a_gpu_that_is_not_there_or_named_twice_is_refused_by_name(setting, words):
    with pytest.raises(EngineError, match=words):
        choose(setting, FOUND, [GPU], {})


def test_a_number_where_no_gpu_can_be_listed_says_how_to_name_them():
    with pytest.raises(EngineError, match=r'no GPU .* give their names: gpus = \["0", "1"\]'):
        choose(2, (), [GPU], {})


def test_each_gpu_is_offered_as_exactly_one_type():
    types = ["memory-mb", "vcores", f"{GPU}-a100", GPU]
    chosen = choose("auto", FOUND, types, {})
    assert chosen is not None
    offered = {name: [gpu.name for gpu in gpus] for name, gpus in chosen.offered.items()}
    assert offered == {f"{GPU}-a100": ["1", "2"], GPU: ["0"]}


def test_the_type_with_most_words_of_the_model_is_chosen():
    types = [GPU, f"{GPU}-a100", f"{GPU}-a100-80gb", f"{GPU}-t4"]
    assert [type_of(gpu.model, types) for gpu in FOUND] == [
        f"{GPU}-t4",
        f"{GPU}-a100-80gb",
        f"{GPU}-a100",
    ]
    assert type_of("", types) == GPU


def test_nodes_of_one_machine_have_different_gpus():
    chosen = choose("auto", FOUND, [GPU], {})
    assert chosen is not None
    parts = per_node(chosen, ["local-1", "local-2"])
    assert [[gpu.name for gpu in types[GPU]] for types in parts.values()] == [["0", "1"], ["2"]]


def test_gpus_that_another_scheduler_assigned_keep_the_names_it_gave_them():
    chosen = assigned_elsewhere(("GPU-2aa", "1"), FOUND)
    assert names(chosen) == ["GPU-2aa", "1"]
    assert [gpu.name for gpu in chosen.others] == ["0"]
    assert names(assigned_elsewhere(("5",), ())) == ["5"]
