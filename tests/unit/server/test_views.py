"""What readers see of the cluster as a whole."""

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import LoadConfiguration, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.server.views import Views
from fairshare.settings.registry import family_of


def test_an_application_that_a_limit_holds_back_counts_as_pending_wherever_it_is_counted():
    queue = QueueSettings("root.a", max_running_applications=1)
    allocations = AllocationSettings(queues={queue.name: queue}, from_file=True)
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    settings = msgspec.json.encode(FairSettings(allocations=allocations))
    manager.handle(0, LoadConfiguration(settings, 1))
    for _ in range(2):
        tasks = (TaskGroup("t", 1, (1024, 1)),)
        manager.handle(1, SubmitApplication("ann", "root.a", tasks=tasks))
    views = Views(manager.scheduler, ContainerHistory(), 1)
    states = [views.application(number).state for number in manager.state.applications]
    assert states == ["RUNNING", "PENDING"]
    counted = views.cluster.applications
    assert (counted["RUNNING"], counted["PENDING"]) == (1, 1)
