"""Unmodified Hadoop and Spark against `fairshare serve`: `make hadoop`.

`installation` fetches them, `configuration` writes a configuration directory, `cluster` starts our
server with NodeManagers, `clients` are the programs that run there, with what each must print.
"""
