"""Owns the failure of a task that is explained by a sentence instead of a traceback."""


class TaskFailed(Exception):
    """The attempt failed; the message is for whose job it is."""
