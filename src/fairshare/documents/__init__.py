"""Owns the grammar of values in fairshare's own files and options.

Knows neither files nor keys nor options. Hadoop's files follow Hadoop's grammar, `config.literals`.
"""
