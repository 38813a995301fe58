"""State that servers of several hosts share in a PostgreSQL database."""
