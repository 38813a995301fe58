"""Runs random scenarios on Hadoop's own schedulers and on ours, and says what differs.

`python -m conformance --seeds 1-1000` needs a folder with the oracle (Hadoop's schedulers behind
scenarios), Java 17 and Maven. Nothing here is a test: the recorded runs in `tests/conformance` are.
"""
