"""Delta tables as their logs describe them: versions, intervals of changes, drifted columns, vectors, our records.

No Spark session is needed, and nothing is written but single log entries. Imports `failures`. Planning asks it what
changed; the rooms above ask it which files to read.
"""
