"""Definitions: create, alter, drop and repair stream tables, and guard the names and columns that they depend on.

`api` calls this package for its statements. It imports `layout` and `refresh`, and never `reading`. A statement
checks everything before it makes anything; what a crash leaves half-made, the next refresh or `repair` finishes.
"""
