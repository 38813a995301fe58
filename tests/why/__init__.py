"""`make why`: planted situations in which something waits, with a table of what `why` says of them.

Limits and obstacles are planted alone and in pairs, under each scheduler. Of each situation the
causes and numbers must be right, lifting less than what is named must start nothing, lifting all of
it must start the application, and so must each remedy that `why --prove` finds.
"""
