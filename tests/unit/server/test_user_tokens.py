"""The file of users' tokens, while several processes change it."""

import subprocess
import sys

from fairshare.server.access.tokens import UserTokens

CHANGES = """
import sys
from pathlib import Path
from fairshare.server.access.tokens import UserTokens

tokens = UserTokens(Path(sys.argv[1]))
sys.stdin.readline()
for number in range(15):
    name = tokens.create(sys.argv[2], number).split("_")[1]
    if number % 3 == 0:
        tokens.revoke(name)
"""


def test_no_change_is_lost_while_others_are_made(tmp_path):
    changing = [
        subprocess.Popen(
            [sys.executable, "-c", CHANGES, str(tmp_path), f"user{number}"],
            stdin=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for one in changing:
        one.stdin.write(b"go\n")
        one.stdin.close()
    assert [one.wait(60) for one in changing] == [0] * 4
    found = UserTokens(tmp_path).listed()
    assert sorted(token.user for token in found) == sorted(
        f"user{number}" for number in range(4) for _ in range(10)
    )
