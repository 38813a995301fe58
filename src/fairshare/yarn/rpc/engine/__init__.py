"""The engine of NodeManagers: containers run on the nodes of a Hadoop cluster."""
