"""Owns delay scheduling by counting: how many opportunities an ask must miss before its locality is
relaxed.

An ask that names places takes a node that it names at once, another node of its racks after some
missed opportunities, any node after some more (Hadoop: RegularContainerAllocator.canAssign).
Decides nothing.
"""

from fairshare.core.model.asks import AskKey
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.capacity.state import CapacityState


def rack_local_after(nodes: int, node_delay: int) -> int:
    """The missed opportunities after which a node of the rack is accepted: at most the number of
    nodes.

    >>> rack_local_after(5, 40)
    5
    """
    return min(nodes, node_delay)


def anywhere_after(
    nodes: int, node_delay: int, rack_delay: int, outstanding: int, places: int
) -> float:
    """The missed opportunities after which any node is accepted. `places` counts hosts, racks and
    anywhere.

    With a delay for racks: that many more than the node delay. Else the number of containers
    wanted, reduced if the ask names fewer places than there are nodes.

    >>> anywhere_after(5, 40, -1, outstanding=4, places=3), anywhere_after(6, 1, 2, 2, 3)
    (1.600000023841858, 3)
    """
    if rack_delay > -1:
        return min(nodes, node_delay + rack_delay)
    factor = min(single(max(places - 1, 0) / nodes), 1.0)
    return min(float(nodes), single(outstanding * factor))


def may_be_rack_local(state: CapacityState, misses: int) -> bool:
    """Whether an ask with this many missed opportunities takes a node of its racks."""
    return rack_local_after(len(state.nodes), state.settings.node_locality_delay) < misses


def may_be_anywhere(state: CapacityState, key: AskKey, misses: int) -> bool:
    """Whether it takes any node; an ask without places always does.

    As in Hadoop places of withdrawn asks still count.
    """
    if not key.places and not key.withdrawn:
        return True
    settings = state.settings
    assert key.anywhere is not None
    after = anywhere_after(
        len(state.nodes),
        settings.node_locality_delay,
        settings.rack_locality_additional_delay,
        key.anywhere.count,
        len(key.places) + len(key.withdrawn) + 1,
    )
    return after < misses
