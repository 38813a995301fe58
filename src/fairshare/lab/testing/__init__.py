"""The tools with which users test their configurations: a simulated cluster, and a pytest plugin.

`cluster.FairshareCluster` does not need pytest; pytest loads `plugin` automatically. This module
imports nothing, so that it does not slow down the start of pytest.
"""
