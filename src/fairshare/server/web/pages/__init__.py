"""The pages: static files."""
