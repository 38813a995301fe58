"""When an agent of a Ray node stops its containers."""

import os
import signal
import subprocess

import pytest

from fairshare.ray.agent import STOPPED_S, Fence

LIMIT_S = 20.0


@pytest.fixture
def raylet():
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def fence(process, parent=None):
    return Fence(process, LIMIT_S, parent or (lambda: process), now_s=0.0)


def test_an_agent_that_a_server_asks_goes_on():
    one = fence(os.getpid())
    one.asked(100.0)
    assert one.reason(100.0 + LIMIT_S) == ""


def test_an_agent_without_a_server_goes_on_while_ray_says_that_its_node_is_alive():
    one = fence(os.getpid())
    assert one.should_ask_ray(LIMIT_S / 2)
    one.ray_says(alive=True, asked_s=LIMIT_S)
    assert one.reason(1.5 * LIMIT_S) == ""


def test_an_agent_that_is_cut_off_stops():
    assert "neither a server nor Ray" in fence(os.getpid()).reason(LIMIT_S + 1)


def test_an_old_answer_of_ray_counts_from_the_question():
    one = fence(os.getpid())
    one.ray_says(alive=True, asked_s=1.0)
    assert one.reason(LIMIT_S + 2)


def test_an_agent_stops_when_ray_gave_its_node_up():
    one = fence(os.getpid())
    one.ray_says(alive=False, asked_s=1.0)
    one.ray_says(alive=True, asked_s=2.0)
    assert one.reason(2.0) == "Ray has given its node up"


def test_an_agent_stops_when_its_raylet_has_ended():
    assert fence(4711, parent=lambda: 1).reason(0.0) == "the raylet of its node has ended"


def test_an_agent_stops_when_its_raylet_is_stopped_for_some_time(raylet):
    one = fence(raylet.pid)
    assert one.reason(0.0) == ""
    raylet.send_signal(signal.SIGSTOP)
    os.waitpid(raylet.pid, os.WUNTRACED)
    assert one.reason(1.0) == ""
    assert one.reason(1.0 + STOPPED_S) == "the raylet of its node is stopped"


def test_a_short_stop_of_the_raylet_is_nothing(raylet):
    one = fence(raylet.pid)
    raylet.send_signal(signal.SIGSTOP)
    os.waitpid(raylet.pid, os.WUNTRACED)
    assert one.reason(1.0) == ""
    raylet.send_signal(signal.SIGCONT)
    os.waitpid(raylet.pid, os.WCONTINUED)
    assert one.reason(1.0 + STOPPED_S) == ""
