"""The ledger over random lives of clusters: its identities, and whether its causes are right."""
