"""The executable specification's format and its check; knows nothing of a live service."""
