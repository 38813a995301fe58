"""`yarn version`, which prints the server's release; Hadoop prints its client's."""

from collections.abc import Sequence

from fairshare import __version__
from fairshare.yarn.cli.calls import Call, say


def run(call: Call, words: Sequence[str]) -> int:
    """Print the release; arguments are ignored, as in Hadoop."""
    info = call.manager.get("/info")["clusterInfo"]
    say(f"Hadoop {info.get('hadoopVersion', '')}")
    say(f"ResourceManager {info.get('resourceManagerBuildVersion', '')}")
    say(f"Built on {info.get('resourceManagerVersionBuiltOn', '')}")
    say(f"This command was run using fairshare {__version__}")
    return 0
