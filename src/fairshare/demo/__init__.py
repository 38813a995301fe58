"""The demonstration (`fairshare demo`): three teams do real work on this machine.

It uses the scheduler as users do: it starts `fairshare serve` as a process of its own, talks to it
through the client, and finds each result in another way. `programs` runs in containers, `work` has
what the teams submit and its checks, `server` the server, `demonstration` what is shown.
"""
