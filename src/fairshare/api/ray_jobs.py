"""The records of Ray's job interface (`/api/jobs/`), as Ray's own client sends and reads them (Ray:
dashboard/modules/job/common.py, pydantic_models.py).

Fields that Ray has and that nothing here could fill are not sent: its client takes them as None.
"""

from typing import Annotated, Any, Final

import msgspec

from fairshare.api.values import WORD

INTERFACE_VERSION: Final = "4"
"""The version of the interface that is spoken (Ray: dashboard/modules/version.py)."""
RAY_VERSION: Final = "2.60.0"
"""The release of Ray whose interface this is; clients compare it with what they need."""

SubmissionId = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=WORD)]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=100_000)]
Number = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]


class RayVersion(msgspec.Struct, frozen=True):
    """What a client asks first."""

    version: str
    ray_version: str
    ray_commit: str
    session_name: str


class RayJobRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job: `entrypoint` is a line for the shell. `job_id` is the earlier name of
    `submission_id`."""

    entrypoint: Line
    submission_id: SubmissionId | None = None
    job_id: SubmissionId | None = None
    runtime_env: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    entrypoint_num_cpus: Number | None = None
    entrypoint_num_gpus: Number | None = None
    entrypoint_memory: Annotated[int, msgspec.Meta(ge=0, le=2**60)] | None = None
    entrypoint_resources: dict[str, Number] | None = None
    entrypoint_label_selector: dict[str, str] | None = None


class RayJobSubmitted(msgspec.Struct, frozen=True):
    """The id of a new job, under both of its names."""

    job_id: str
    submission_id: str


class RayJobStopped(msgspec.Struct, frozen=True):
    """Whether the job was running, and is being stopped."""

    stopped: bool


class RayJobDeleted(msgspec.Struct, frozen=True):
    """The job is not known any more."""

    deleted: bool


class RayJobLogs(msgspec.Struct, frozen=True):
    """What the job's entrypoint has written."""

    logs: str


class RayJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job and its status: PENDING, RUNNING, STOPPED, SUCCEEDED or FAILED. `job_id` is the id of
    its application. Instants are milliseconds since 1970."""

    type: str = "SUBMISSION"
    job_id: str
    submission_id: str
    status: str
    entrypoint: str
    message: str
    error_type: str | None
    start_time: int
    end_time: int | None
    metadata: dict[str, str]
    runtime_env: dict[str, Any]
    driver_node_id: str | None
    driver_exit_code: int | None
