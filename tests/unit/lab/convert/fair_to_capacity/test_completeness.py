"""The conversion reports about each setting of the Fair Scheduler that a queue can have: a new
setting cannot be lost in silence."""

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import converted

from fairshare.settings.fair.queue_settings import SETTINGS
from fairshare.settings.setting import Setting

CHOSEN = {"schedulingPolicy": "fifo", "allowPreemptionFrom": "false"}
"""Values of settings that offer choices: others than those without the element."""


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_each_setting_of_a_queue_is_named_by_a_finding(setting: Setting) -> None:
    value = setting.example or CHOSEN[setting.name]
    inner = '<queue name="b"/>' if setting.scope == "parent" else ""
    conversion = converted(
        f'<queue name="a"><{setting.name}>{value}</{setting.name}>{inner}</queue>'
    )
    named = {found.element for found in conversion.findings if found.queue == "root.a"}
    assert setting.name in named
