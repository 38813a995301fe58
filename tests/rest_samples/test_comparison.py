"""The comparison finds what differs, and nothing else."""

import httpx
import pytest
from tests.rest_samples.comparison import Comparison

EPOCH_MS = 1_700_000_000_000


def compared(expected: str, found: str, status: int = 200) -> list[str]:
    answer = httpx.Response(status, text=found)
    wanted = {"status": 200, "headers": {}, "body": expected}
    return Comparison(EPOCH_MS, "localhost:8088").differences(wanted, answer)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ('{"a":1,"b":"x"}', '{"b":"x","a":1}'),
        ('{"id":"application_@ts@_0001"}', f'{{"id":"application_{EPOCH_MS}_0001"}}'),
        ('{"time":"@time@"}', '{"time":12}'),
        ('{"time":"@time:string@"}', '{"time":"12"}'),
        ('{"share":41.666664}', '{"share":41.666668}'),
        ('{"app":[{"id":"a"},{"id":"b"}]}', '{"app":[{"id":"b"},{"id":"a"}]}'),
        ('{"entry":{"key":"a"},"entry":{"key":"b"}}', '{"entry":{"key":"b"},"entry":{"key":"a"}}'),
        ('<?xml version="1.0"?><a><b/></a>', '<?xml version="1.0"?><a><b></b></a>'),
        ("@html:All Applications@", "<html><title>All Applications</title></html>"),
    ],
)
def test_what_agrees(expected, found):
    assert compared(expected, found) == []


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ('{"a":1}', '{"a":"1"}'),
        ('{"a":1}', '{"a":true}'),
        ('{"a":1}', '{"a":1,"b":2}'),
        ('{"a":[1]}', '{"a":1}'),
        ('{"time":"@time@"}', '{"time":"12"}'),
        ('{"id":"application_@ts@_0001"}', '{"id":"application_1_0001"}'),
        ('{"share":41.6}', '{"share":41.7}'),
        ('{"other":["a","b"]}', '{"other":["b","a"]}'),
        ('{"entry":{"key":"a"},"entry":{"key":"b"}}', '{"entry":{"key":"b"}}'),
        ('<?xml version="1.0"?><a><b>1</b></a>', '<?xml version="1.0"?><a><b>2</b></a>'),
        ("words", "other words"),
    ],
)
def test_what_does_not(expected, found):
    assert compared(expected, found)


def test_the_status_is_compared():
    assert compared("{}", "{}", status=404)


def test_headers_that_were_recorded_are_compared():
    answer = httpx.Response(200, headers={"X-A": "1"}, text="")
    comparison = Comparison(EPOCH_MS, "localhost:8088")
    assert not comparison.differences({"status": 200, "headers": {"x-a": "1"}}, answer)
    assert comparison.differences({"status": 200, "headers": {"X-A": "2"}}, answer)
    assert comparison.differences({"status": 200, "headers": {"X-B": "1"}}, answer)
