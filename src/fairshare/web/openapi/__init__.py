"""Owns the description of our REST interface for programs: OpenAPI 3.1, made from the types."""
