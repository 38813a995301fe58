"""Owns the engine that runs containers as processes of this machine. Knows orders and reports only.

How it is built, from the inside out:

    engine       one thread: takes orders, watches supervisors, reports     (in the server)
    nursery      the server's end of the zygote                            (in the server)
    zygote       a small process that forks a supervisor for each order
    supervisor   one for each container: starts it, limits it, ends its whole tree, writes its exit

The supervisor needs neither the server nor the zygote: a container and its exit status survive the
death of both. They communicate through files below the state directory (`directories`), so that the
next server can continue.

This module imports nothing, on purpose: the zygote stays small, and every supervisor with it.
"""
