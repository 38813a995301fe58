"""What users have with running containers: commands beside them, and their terminals.

    relay.py      bytes between processes and the connection of a user
    command.py    the process that holds a command inside a running container, `fs-session`
    opening.py    the server's part: it starts a session, and gets a socket

The server passes bytes on and understands none. The frames are `api.frames`; all but `opening` must
stay light.
"""
