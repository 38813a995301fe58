"""Owns the words of MapReduce jobs as scenarios use them, of the scheduler that has jobs."""

from typing import Final

from fairshare.families.registry import words_of_jobs

JOBS: Final = words_of_jobs()
