"""Owns `yarn version`: which release answers. Hadoop prints its client's, this the server's."""

from collections.abc import Sequence

from fairshare import __version__
from fairshare.cli.yarn.session import Session, say


def run(session: Session, words: Sequence[str]) -> int:
    """Print it; words are passed over, as Hadoop does."""
    info = session.manager.get("/info")["clusterInfo"]
    say(f"Hadoop {info.get('hadoopVersion', '')}")
    say(f"ResourceManager {info.get('resourceManagerBuildVersion', '')}")
    say(f"Built on {info.get('resourceManagerVersionBuiltOn', '')}")
    say(f"This command was run using fairshare {__version__}")
    return 0
