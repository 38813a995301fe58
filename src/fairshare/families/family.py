"""Owns `SchedulerFamily`: what a scheduler brings along so that all of fairshare can use it.

Other packages ask a family; they never compare a scheduler's name, and never test the class of a
scheduler, its state or its settings. Knows no particular scheduler.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

from fairshare.families.yarn.interface import YarnInterface
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.protocol import Scheduler


class SchedulerFamily(ABC):
    """One scheduler with all that belongs to it; `families.registry` has one object of each.

    What a family does not define has the default that is documented here.
    """

    name: ClassVar[str]
    """As the journal, the REST interface and the command line's `--scheduler` name it."""

    title: ClassVar[str]
    """For people: `Fair Scheduler`."""

    alias: ClassVar[str] = ""
    """The name in scenario files and on the command line, if it is not `name`."""

    yarn: ClassVar[YarnInterface] = YarnInterface()
    """What YARN's REST interface shows of the scheduler. By default what it shows of a scheduler
    that YARN does not know."""

    @property
    def public_name(self) -> str:
        """The name in scenario files and on the command line."""
        return self.alias or self.name

    @abstractmethod
    def create(self, types: ResourceTypes) -> Scheduler:
        """A scheduler without queues and nodes; a `LoadConfiguration` gives it its settings."""
