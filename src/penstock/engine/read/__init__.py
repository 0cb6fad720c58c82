"""Rows of pinned versions and of intervals, by Spark or on the driver, from no more files than needed.

Imports `spark`, `delta` and `failures`. Programs, audits and readers use it; nothing here writes.

Open to every package: compare, large_sources, rows_as_view.
Open to the engine: driver_read, file_columns, listed_files, net, pinned_files, pruning, scan, sql_literals.
"""
