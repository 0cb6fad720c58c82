"""Rows of pinned versions and of intervals, by Spark or on the driver, from no more files than needed.

Imports `spark`, `delta` and `failures`. Programs, audits and readers use it; nothing here writes.
"""
