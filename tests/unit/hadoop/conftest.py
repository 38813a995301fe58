"""These tests need protobuf, which the extra `hadoop` brings; without it they are left out."""

from importlib.util import find_spec

WITHOUT_PROTOBUF = find_spec("google") is None or find_spec("google.protobuf") is None

if WITHOUT_PROTOBUF:
    collect_ignore_glob = ["*"]


def pytest_report_collectionfinish() -> str:
    """Say once what is left out."""
    if WITHOUT_PROTOBUF:
        return "tests of fairshare.hadoop left out: they need the extra fairshare[hadoop]"
    return ""
