"""Owns the proof that what comes out can be loaded: our own reader reads it.

Opens no file: it reads the texts before anybody writes them.
"""

from collections.abc import Mapping

from fairshare.config.problems import Problem, Problems
from fairshare.config.site_files import read_site
from fairshare.families.capacity.names import CAPACITY_FILE
from fairshare.families.capacity.reading import collect_capacity
from fairshare.families.directory import SITE_FILES
from fairshare.schedulers.capacity.settings import CapacitySettings


def check_conversion(
    files: Mapping[str, bytes],
) -> tuple[CapacitySettings, tuple[Problem, ...]]:
    """The settings that the files say, and what the reader has to say about the new file.

    Raises ConfigurationError with everything for which they would not be loaded.
    """
    problems = Problems()
    documents = [(name, files[name]) for name in (*SITE_FILES, CAPACITY_FILE) if name in files]
    site = read_site(documents, problems)
    settings = collect_capacity(site, problems, CAPACITY_FILE)
    problems.raise_errors()
    reported = tuple(problem for problem in problems.all if problem.file == CAPACITY_FILE)
    return settings, reported
