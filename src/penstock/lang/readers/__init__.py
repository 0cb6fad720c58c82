"""Penstock's statements, one file each: the grammar, and how it is read."""
