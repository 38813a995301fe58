"""What would start an application that waits, proved in a process of its own, which reads the
journal: the server decides on meanwhile. One runs at a time.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from fairshare.api.applications import Proved
from fairshare.core.model.identifiers import ApplicationId
from fairshare.errors import InputError
from fairshare.server.lab_process import run_verb

MOST_S: Final = 28.0
"""Below the patience of clients."""


class Prover:
    """Answers questions about the state of one server."""

    def __init__(self, state_directory: Path, now_ms: Callable[[], int]) -> None:
        self._state_directory = state_directory
        self._now_ms = now_ms
        self._busy = False

    async def prove(self, application: ApplicationId) -> Proved:
        """Remedies for what waits. Raises InputError: `proof-running` if another question is being
        answered, `cannot-prove` with the reason."""
        if self._busy:
            raise InputError(
                "proof-running", "another proof is being searched: try again when that is done"
            )
        self._busy = True
        try:
            ended = await run_verb(
                *("at", datetime.fromtimestamp(self._now_ms() / 1_000, UTC).isoformat()),
                *("--against", str(self._state_directory)),
                *("why", str(application), "--prove", "--json"),
                most_s=MOST_S,
            )
        except TimeoutError as error:
            raise InputError(
                "cannot-prove",
                f"the search for a proof takes longer than {MOST_S:g} s on this cluster",
            ) from error
        finally:
            self._busy = False
        if ended.exit_code or not ended.output:
            raise InputError("cannot-prove", ended.reason)
        return msgspec.json.decode(ended.output, type=Proved)
