"""Owns the rules that choose a queue; knows nothing of nodes, containers or assignment."""
