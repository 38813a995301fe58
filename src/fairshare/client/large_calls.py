"""Owns how a submission is sent whose calls are too large for one request. Knows no socket."""

from typing import Final

import msgspec

from fairshare.api.work import Submission
from fairshare.client.calls import Calls
from fairshare.client.methods import Conversation

MOST_INLINE: Final = 4 << 20
"""A server takes bodies of 8 MB by default, and a call grows by a third in JSON."""


def submitting(calls: Calls, submission: Submission) -> Conversation[str]:
    """Upload the large calls of a submission, each once, and submit it; its id."""
    sizes = sum(len(group.callable) for group in submission.tasks)
    if sizes > MOST_INLINE:
        digests: dict[bytes, str] = {}
        tasks = []
        for group in submission.tasks:
            if group.callable and group.callable not in digests:
                digests[group.callable] = yield calls.upload(group.callable)
            payload = digests.get(group.callable)
            tasks.append(msgspec.structs.replace(group, callable=b"", payload=payload))
        submission = msgspec.structs.replace(submission, tasks=tuple(tasks))
    name: str = yield calls.submit_whole(submission)
    return name
