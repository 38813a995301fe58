"""The names by which users of the client import what they send (`api/work.py`)."""

from fairshare.api.work import DEFAULT_RESOURCES as DEFAULT_RESOURCES
from fairshare.api.work import ContainerRequest as ContainerRequest
from fairshare.api.work import Dependency as Dependency
from fairshare.api.work import DriverCommand as DriverCommand
from fairshare.api.work import EndSignal as EndSignal
from fairshare.api.work import Launch as Launch
from fairshare.api.work import Master as Master
from fairshare.api.work import Submission as Submission
from fairshare.api.work import TaskArray as TaskArray
from fairshare.api.work import TaskGroup as TaskGroup
