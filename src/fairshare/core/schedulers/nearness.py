"""Owns the locality of a node for an ask, for schedulers that serve asks by locality alone."""

from fairshare.core.model.asks import AskKey
from fairshare.core.model.events import Locality
from fairshare.core.model.nodes import Node


def level_of(key: AskKey, node: Node) -> Locality | None:
    """The locality at which an ask may be served on a node; None: it must not be served there.

    Example: an ask for n1 on /r1 that does not relax is node-local on n1 and None on all other
    nodes.
    """
    here, rack, ask = key.places.get(node.host), key.places.get(node.rack), key.anywhere
    if ask is None:
        return None
    if here is not None and rack is not None:
        return Locality.NODE_LOCAL
    if rack is not None:
        return Locality.RACK_LOCAL if rack.relax else None
    return Locality.OFF_SWITCH if ask.relax else None
