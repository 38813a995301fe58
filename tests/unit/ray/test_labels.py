"""What a Ray node says of itself becomes attributes, and a label of the configuration's choice the
partition."""

from fairshare.ray.amounts import attributes_of


def test_labels_and_accelerators_are_attributes_and_one_label_is_the_partition():
    node = {
        "Labels": {"ray.io/node-id": "a1", "tier": "spot", "partition": "forged"},
        "Resources": {"CPU": 4.0, "accelerator_type:A100": 1.0},
    }
    plain = {"tier": "spot", "ray.io/accelerator-type": "A100"}
    assert attributes_of(node, "") == plain
    assert attributes_of(node, "tier") == {**plain, "partition": "spot"}
    assert attributes_of(node, "missing") == plain
    assert attributes_of(node, "ray.io/accelerator-type")["partition"] == "A100"


def test_a_node_of_an_earlier_ray_without_labels_has_none():
    assert attributes_of({}, "tier") == {}


def test_labels_have_a_limit():
    node = {"Labels": {f"label{number:03}": "x" * 1_000 for number in range(200)}}
    found = attributes_of(node, "")
    assert len(found) == 64
    assert {len(value) for value in found.values()} == {256}
