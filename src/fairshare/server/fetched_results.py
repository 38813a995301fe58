"""Where results of Python calls are that were fetched from other machines: in the state directory,
one folder for each application.
"""

from pathlib import Path

_FOLDER = "results"


def folder_of(state_directory: Path, application_name: str) -> Path:
    """The folder of an application's results, which may not exist."""
    return state_directory / _FOLDER / application_name


def fetched_result(state_directory: Path, application_name: str, container_name: str) -> Path:
    """The file of a container's result, which may not exist."""
    return folder_of(state_directory, application_name) / container_name
