"""A Ray cluster as the place where containers run: one agent per Ray node starts them as processes.

The server never imports Ray: Ray ends the process of its driver when its head is away for a while.
So a process of its own (`driver`) talks to Ray, and to the server over a socket (`messages`). The
agents are detached actors (`agent`), which outlive both.
"""
