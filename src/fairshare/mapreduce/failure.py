"""Owns the failure of a task with a message for users instead of a traceback."""


class TaskFailed(Exception):
    """The attempt failed; the message is for the job's owner."""
