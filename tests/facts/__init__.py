"""Facts: single questions with the answer that Hadoop, or a paper, gives. Each kind has a function.

`python -m tests.facts DIR` runs all facts of a folder; the test suite runs those of one folder at a
time through the same table (`kinds.py`).
"""
