"""Kills servers on purpose, again and again, and looks whether anything was lost: `make soak`."""
