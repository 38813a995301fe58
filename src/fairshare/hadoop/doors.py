"""Opens the four ports of a ResourceManager beside the web server, and closes them again.

Puts the parts of this room together; what a call means is theirs.
"""
