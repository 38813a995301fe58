"""The words of YARN's REST interface that servers and the commands of YARN share."""

from typing import Final

APPLICATION_STATES: Final = (
    *("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"),
)
"""The states of applications (Hadoop: YarnApplicationState), in Hadoop's order."""

NODE_STATES: Final = (
    *("NEW", "RUNNING", "UNHEALTHY", "DECOMMISSIONED", "LOST", "REBOOTED", "DECOMMISSIONING"),
    "SHUTDOWN",
)
"""The states of nodes (Hadoop: NodeState), in Hadoop's order."""
