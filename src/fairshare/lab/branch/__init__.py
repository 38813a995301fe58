"""The branch of a world: a cut of a history, edits, lives, and how far it goes."""
