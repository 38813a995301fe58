"""The grammar of values in fairshare's own files and options.

Hadoop's files follow Hadoop's grammar, `documents.literals`.
"""
