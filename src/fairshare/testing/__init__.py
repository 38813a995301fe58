"""Owns what users test their own configurations with: a simulated cluster, and a pytest plugin.

`cluster.FairshareCluster` needs no pytest; `plugin` is what pytest loads by itself. Nothing is
imported here, so that pytest starts as quickly as without it.
"""
