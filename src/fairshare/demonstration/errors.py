"""Owns what can go wrong with the demonstration itself.

FairshareError
  DemonstrationFailed    it could not be set up, or the cluster did not do its work
"""

from fairshare.errors import FairshareError


class DemonstrationFailed(FairshareError):
    """The demonstration has ended early; the message says why."""
