"""The words of the verb `eta`."""

from .conftest import application_name

ETA = {
    "at_ms": 0,
    "start": {"p50_ms": 300_000, "p90_ms": 540_000, "outcomes": 60, "calibrated": True},
    "end": {"p50_ms": 1_500_000, "p90_ms": None, "outcomes": 7},
    "samples": 64,
    "draws": 50,
    "horizon_ms": 7 * 24 * 3_600_000,
    "met": 195,
    "of": 214,
}


def test_it_says_when_an_application_starts_and_ends_and_how_reliable_that_is(cluster, run):
    cluster.answers[f"/applications/{application_name(7)}/eta"] = ETA
    assert run("eta", application_name(7)).output.splitlines() == [
        "It starts in about 5m 00s, in 9 of 10 cases within 9m 00s.",
        "It ends in about 25m 00s, in more than 1 of 10 simulations later than in 7d 00h"
        " (not yet calibrated: 7 outcomes).",
        "From 50 simulations with the run times of 64 applications; such limits were met by"
        " 91% of 214 in 7 days.",
    ]


def test_without_an_estimate_it_says_why(cluster, run):
    cluster.answers[f"/applications/{application_name(7)}/eta"] = {
        "at_ms": 0,
        "reason": "3 have ended",
    }
    said = run("eta", application_name(7)).output
    assert said == "No estimate of its start and end: 3 have ended.\n"


def test_a_moment_needs_a_state_directory(run):
    refused = run("eta", "7", "--at", "2h")
    assert refused.exit_code == 2
    assert "--against DIR" in refused.stderr
