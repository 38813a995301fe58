"""Aggregated logs have the bytes that Hadoop's own writer gives them."""

import json

import pytest
from tests.aggregated_logs import CASES, CONTAINER, RECORDED, digest

from fairshare.yarn.rpc.own.log_file import LogFile, LogPart


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_the_one_that_hadoop_writes(name: str) -> None:
    recorded = json.loads(RECORDED.read_bytes())
    case, content = CASES[name], bytearray()
    acls = {"VIEW_APP": case.view_acl} if case.view_acl else {}
    file = LogFile(content.extend, recorded["user"], acls)
    for number, logs in enumerate(case.containers, 1):
        parts = [LogPart(log, len(text), [text]) for log, text in logs.items()]
        file.add(CONTAINER.format(number), parts)
    file.close()
    assert digest(bytes(content)) == recorded["files"][name]
