"""The engines, which run containers."""
