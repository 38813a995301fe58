"""Cron jobs: applications that are submitted again and again, at the times of a cron line.

They are in a file beside the journal. Each submission is one as by any client, and is recorded in
the journal as such.
"""
