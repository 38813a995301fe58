"""The engine that runs containers as processes on this machine.

Its parts, from the server outwards:

    engine         one thread: takes orders, watches supervisors, reports     (in the server)
    zygote_client  the server's end of the zygote                             (in the server)
    zygote         a small process that forks a supervisor for each order
    supervisor     one per container: starts it, limits it, ends its process tree, writes its exit

The supervisor needs neither the server nor the zygote: a container and its exit status survive the
end of both. They communicate through files in the state directory (`directories`), so that the next
server can continue.

This module imports nothing, so that the zygote, and with it every supervisor, stays small.
"""
