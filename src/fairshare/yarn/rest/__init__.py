"""YARN's REST interface: answers clients of a Hadoop ResourceManager as it does."""
