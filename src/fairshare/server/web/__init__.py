"""The REST interfaces and the pages; knows nothing of how a decision is made."""
