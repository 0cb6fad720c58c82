"""Delta tables as their logs describe them: versions, intervals of changes, drifted columns, vectors, our records.

No Spark session is needed, and nothing is written but single log entries. Imports `failures`. The stages of a
refresh, `reading`, `monitor` and `subscribe` ask it what changed; the rooms above ask it which files to read.

Open to every package: commit_record, definition, delta_log, drift_verdict, interval, log_storage, readable, snapshot,
    storage_schema.
Open to the engine: deletion_vector, drift, log_entry, put_entry.
"""
