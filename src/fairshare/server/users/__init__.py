"""The identity of users: the server's own user, and the groups of users; one file per source."""
