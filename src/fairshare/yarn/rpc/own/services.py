"""The auxiliary services of this machine's nodes: MapReduce's shuffle, and how to do without
others."""

from typing import Final

SHUFFLE: Final = "mapreduce_shuffle"
"""The name of MapReduce's shuffle (Hadoop: ShuffleHandler)."""

VARIABLE: Final = f"NM_AUX_SERVICE_{SHUFFLE}"
"""The variable by which containers know `metadata`, in base64 (Hadoop: AuxiliaryServiceHelper)."""


def metadata(port: int) -> bytes:
    """What masters and containers get to know of the shuffle: its port.

    >>> metadata(13_562).hex()
    '000034fa'
    """
    return port.to_bytes(4)


_INSTEAD: Final = {
    "spark_shuffle": (
        "set spark.shuffle.service.enabled=false; dynamic allocation works without it with"
        " spark.dynamicAllocation.shuffleTracking.enabled=true"
    )
}


def unknown_service(name: str) -> str:
    """Why a launch context that names an auxiliary service is refused, and what to do."""
    instead = _INSTEAD.get(name, "others need NodeManagers (fairshare serve --engine nodemanagers)")
    return (
        f"The auxService:{name} does not exist: nodes of this machine have {SHUFFLE} only;"
        f" {instead}"
    )
