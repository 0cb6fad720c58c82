"""A query's analysed plan, read out of Spark into a bound tree that `compile` understands.

Imports `read` and below; `run` calls it. CREATE, ALTER and each new process bind a query once; binding runs no query.

Open to every package: functions, pinned_clock, pinned_query.
Open to the engine: bind_query.
"""
