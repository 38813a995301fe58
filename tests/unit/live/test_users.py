"""What this machine knows of users."""

import grp
import os
import pwd

from fairshare.live.users import groups_of_user, own_user


def test_the_primary_group_of_a_user_comes_first():
    user = pwd.getpwuid(os.getuid())
    groups = groups_of_user(user.pw_name)
    assert groups[0] == grp.getgrgid(user.pw_gid).gr_name
    assert len(set(groups)) == len(groups)


def test_a_user_whom_this_machine_does_not_know_has_no_groups():
    for user in ("nobody-of-that-name", "nul\0", "é" * 300):
        assert groups_of_user(user) == ()


def test_a_user_without_a_name_is_a_number(monkeypatch):
    def fail() -> str:
        raise KeyError("no name")

    monkeypatch.setattr("getpass.getuser", fail)
    assert own_user() == str(os.getuid())
