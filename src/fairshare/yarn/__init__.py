"""A cluster as YARN shows it: its records, REST and RPC interfaces, NodeManagers and commands."""
