"""Owns how values are written in files and options that are ours: one grammar for all of them.

Knows no file, no key and no option. Hadoop's own files follow Hadoop's grammar, `config.literals`.
"""
