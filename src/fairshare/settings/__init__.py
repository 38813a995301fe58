"""The way from Hadoop's files to settings and back; knows nothing of a running cluster."""
