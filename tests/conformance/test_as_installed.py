"""What the oracle is given so that it decides as an installed ResourceManager."""

from conformance.oracle import LEGACY_MODE, as_installed

PROPERTY = f"<property><name>{LEGACY_MODE}</name><value>false</value></property>"


def test_the_queue_mode_is_in_the_file_that_hadoop_asks_for_it() -> None:
    document = {"properties": {LEGACY_MODE: False}, "steps": []}
    site = as_installed(document)["config"]["yarn-site.xml"]
    assert site == f"<configuration>{PROPERTY}</configuration>"
    assert "config" not in document


def test_a_file_that_is_there_keeps_its_properties() -> None:
    text = "<configuration><property/></configuration>"
    config = {"yarn-site.xml": text, "resource-types.xml": "types"}
    installed = as_installed({"properties": {LEGACY_MODE: "false"}, "config": config})["config"]
    assert installed["yarn-site.xml"] == f"<configuration><property/>{PROPERTY}</configuration>"
    assert installed["resource-types.xml"] == "types"


def test_other_scenarios_are_given_as_they_are() -> None:
    document = {"properties": {"yarn.scheduler.capacity.root.queues": "a"}}
    assert as_installed(document) is document
