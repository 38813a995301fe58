"""Authentication, access lists and the audit log of a running server."""
