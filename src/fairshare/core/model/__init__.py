"""The cluster as data, and the one place that changes it."""
