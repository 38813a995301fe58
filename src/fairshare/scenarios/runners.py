"""Owns which runner a scenario needs. A scheduler with steps of its own has a runner of its own."""

from fairshare.scenarios.document import MAPREDUCE
from fairshare.scenarios.job_runner import JobRunner
from fairshare.scenarios.outcome import ScenarioRunner
from fairshare.scenarios.runner import Runner
from fairshare.scenarios.steps import Scenario


def runner_of(scenario: Scenario, *, verify: bool = False) -> ScenarioRunner:
    """A runner that is ready for the first step; raises what `Runner` and `JobRunner` raise."""
    if scenario.scheduler == MAPREDUCE:
        return JobRunner(scenario, verify=verify)
    return Runner(scenario, verify=verify)
