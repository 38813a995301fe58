"""Owns explanations of what the scheduler does; knows nothing of how they are shown."""
