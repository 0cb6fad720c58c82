"""Reading stream tables without changing them: fresh rows, several tables at one instant, audits, explanations.

`api` calls this package. It imports `layout` and `refresh`, and never `ddl`. Nothing here writes to a table, the
catalog or history.
"""
