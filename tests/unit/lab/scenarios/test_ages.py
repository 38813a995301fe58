"""Which containers of an application are its oldest, where nodes were reserved for some."""

from tests.unit.core.schedulers.capacity.playground import Playground, asks, beat, node, submit

QUEUES = {
    "yarn.scheduler.capacity.root.queues": "a",
    "yarn.scheduler.capacity.root.a.capacity": "100",
    "yarn.scheduler.capacity.root.a.user-limit-factor": "10",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
}


def test_a_reservation_that_a_resized_node_has_lost_makes_no_later_container_older():
    found = Playground([node("n1", 4_096), node("n2", 4_096), node("n3")], base=QUEUES)
    found.do(submit("full", "root.a", asks(3)), beat("n1", 3))
    found.do(submit("one", "root.a", asks(3, mb=2_048)), beat("n1"))
    assert found.seen["nodes"]["n1"]["reserved_for"] == "one"
    found.do({"node": {"resize": {"name": "n1", "resources": {"memory-mb": 4_096, "vcores": 50}}}})
    found.do(beat("n2", 2), beat("n1"))
    assert found.seen["nodes"]["n1"]["reserved_for"] == "one"
    found.do({"finish": {"app": "full", "containers": 3}}, beat("n1"))
    assert found.on("one") == {"n1": 1, "n2": 2}
    found.do({"finish": {"app": "one", "containers": 1}})
    assert found.on("one") == {"n1": 1, "n2": 1}
