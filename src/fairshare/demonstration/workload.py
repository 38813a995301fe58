"""Owns what a demonstration asks of its work: `Workload`, the strategy that two packages implement.

`applications` has tasks in YARN's containers, `pools` has MapReduce jobs on slots.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairshare.client.client import Client
from fairshare.demonstration.course import Course
from fairshare.demonstration.server import configuration_directory
from fairshare.demonstration.summary import Results
from fairshare.demonstration.teams import Pace, Setting


class Workload(ABC):
    """The work of one demonstration; its methods are called once each, in this order.

    `say` prints a line. All methods raise FairshareError if something goes wrong.
    """

    def __init__(self, setting: Setting, pace: Pace, say: Callable[[str], None]) -> None:
        self.setting = setting
        self.pace = pace
        self.say = say
        self.configuration = configuration_directory(setting.scheduler)

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Do what needs no server; write what tasks read to the demonstration's folder."""

    @abstractmethod
    def course(self, client: Client) -> Course[Any]:
        """Decide what arrives when, and return the course of it."""

    @abstractmethod
    def verify(self, client: Client) -> Results:
        """Measure and check the results of the course; the folder is still there."""
