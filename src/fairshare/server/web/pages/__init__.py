"""The pages: static files, and the paths that only they need."""
