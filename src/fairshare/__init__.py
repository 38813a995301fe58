"""Fairshare: a multi-tenant scheduler that shares one machine, or a cluster, fairly.

The rooms, from the inside out (a room may import what stands left of it, never right):

    model < schedulers, placement < manager < engines, journal, config < runtime
          < live, simulate, insight, scenarios < cli, web
"""

__version__ = "0.1.0"
