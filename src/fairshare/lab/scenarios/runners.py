"""Owns which runner a scenario needs. MapReduce jobs have steps and a runner of their own."""

from fairshare.lab.scenarios.document import Scenario
from fairshare.lab.scenarios.job_runner import JobRunner
from fairshare.lab.scenarios.outcome import ScenarioRunner
from fairshare.lab.scenarios.runner import Runner


def runner_of(scenario: Scenario, *, verify: bool = False) -> ScenarioRunner:
    """A runner that is ready for the first step; raises what `Runner` and `JobRunner` raise."""
    if scenario.family.jobs:
        return JobRunner(scenario, verify=verify)
    return Runner(scenario, verify=verify)
