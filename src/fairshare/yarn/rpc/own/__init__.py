"""This machine as a NodeManager: masters of Hadoop's kind start containers on the local engine."""
