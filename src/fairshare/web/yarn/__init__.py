"""YARN's REST interface: what clients of a Hadoop ResourceManager ask, answered as it answers."""
