"""`yarn version`, which prints the server's release; Hadoop prints its client's."""

from collections.abc import Sequence

from fairshare import __version__
from fairshare.yarn.cli.session import Session, say


def run(session: Session, words: Sequence[str]) -> int:
    """Print the release; arguments are ignored, as in Hadoop."""
    info = session.manager.get("/info")["clusterInfo"]
    say(f"Hadoop {info.get('hadoopVersion', '')}")
    say(f"ResourceManager {info.get('resourceManagerBuildVersion', '')}")
    say(f"Built on {info.get('resourceManagerVersionBuiltOn', '')}")
    say(f"This command was run using fairshare {__version__}")
    return 0
