"""The outputs of maps are opened with the rights of their account."""

import os
import shutil
from pathlib import Path

import pytest
from tests.shuffle_requests import MAPS, write_outputs

from fairshare.yarn.rpc.own.map_outputs import MapOutputs, MissingOutput

ACCOUNT = 65_534


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another account")
def test_a_link_to_what_the_account_cannot_read_is_not_followed(place: Path) -> None:
    closed = place / "closed"
    write_outputs(closed)
    closed.chmod(0o700)
    directory = place / "application"
    (directory / "output").mkdir(parents=True)
    (directory / "output/stolen").symlink_to(closed / MAPS[0])
    shutil.copytree(closed / MAPS[0], directory / "output/own")
    for path in (directory, *directory.rglob("*")):
        os.chown(path, ACCOUNT, ACCOUNT, follow_symlinks=False)
    outputs = MapOutputs(directory, "here")
    assert outputs.part("own", 0).length > 0
    with pytest.raises(MissingOutput, match="Permission denied"):
        outputs.part("stolen", 0)
