"""Owns who is who: the server's own user, and the groups of users; one file for each source."""
