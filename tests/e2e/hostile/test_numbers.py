"""A number that does not fit is refused, and the server goes on."""

import pytest

HUGE = [1e30, -1e30, 2**31, 2**63, 10**30, "99999999999999999999999", 1e308, -(2**31) - 1]


@pytest.fixture
def http(attacked):
    with attacked.client("ann") as found:
        yield found


def new_application(http):
    return http.post("/ws/v1/cluster/apps/new-application").json()["application-id"]


def survives(http):
    return http.get("/healthz").status_code == 200


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("field", ["priority", "max-app-attempts", "vCores", "memory"])
def test_a_submission_with_a_number_that_does_not_fit_is_refused(http, field, number):
    body = {"application-id": new_application(http), "queue": "a"}
    body["am-container-spec"] = {"commands": {"command": "true"}}
    if field in ("vCores", "memory"):
        body["resource"] = {field: number}
    else:
        body[field] = number
    answer = http.post("/ws/v1/cluster/apps", json=body)
    assert answer.status_code == 400
    assert survives(http)


@pytest.mark.parametrize("number", HUGE)
def test_a_priority_that_does_not_fit_is_refused(http, number):
    body = {"queue": "a", "tasks": [{"command": "true", "resources": {"memory-mb": 64}}]}
    name = http.post("/api/v1/applications", json=body).json()["id"]
    answer = http.put(f"/ws/v1/cluster/apps/{name}/priority", json={"priority": number})
    assert answer.status_code == 400
    assert "out of range" in answer.text
    assert http.post(f"/api/v1/applications/{name}/priority", json={"priority": number})
    assert survives(http)


@pytest.mark.parametrize(
    "more",
    [
        {"priority": 2**31},
        {"lifetime_s": 2**40},
        {"tasks": [{"command": "true", "count": 10**7}]},
        {"tasks": [{"command": "true", "resources": {"memory-mb": 2**64}}]},
        {"tasks": [{"command": "true", "time_limit_ms": 1e300}]},
    ],
)
def test_our_own_interface_says_where_the_number_is(http, more):
    answer = http.post("/api/v1/applications", json={"queue": "a", **more})
    assert answer.status_code == 400
    assert "`$." in answer.json()["message"]


def test_a_number_far_beyond_those_given_is_refused(http):
    epoch = new_application(http).split("_")[1]
    for number in (2**63, 10**18, "9" * 19):
        body = {"application-id": f"application_{epoch}_{number}", "queue": "a"}
        assert http.post("/ws/v1/cluster/apps", json=body).status_code == 400
    assert survives(http)


@pytest.mark.parametrize(
    "path",
    [
        "apps?startedTimeBegin=" + "9" * 4000,
        "apps?limit=" + "9" * 4000,
        "scheduler/app-activities/application_1_1?maxTime=1e400",
        "scheduler/app-activities/application_1_1?maxTime=nan",
        "scheduler/app-activities/application_1_1?limit=%C2%B2",
        "scheduler/app-activities/application_1_1?requestPriorities=" + "9" * 5000,
        "apps/application_1_" + "9" * 19,
    ],
)
def test_a_number_of_a_path_or_parameter_is_never_a_defect(http, path):
    assert http.get(f"/ws/v1/cluster/{path}").status_code < 500
