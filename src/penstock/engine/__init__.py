"""Spark and Delta: the only home of pyspark and deltalake.

Everything above describes what to read, compute and commit; only this package does it. Its rooms follow a refresh,
and each imports only those before it:

    failures    what errors of Spark and of storages mean
    delta       the log: versions, intervals, drift, vectors, records
    spark       the session, its settings and its catalog
    read        rows of pinned versions and intervals
    bind        analysed plans as bound trees
    write       the stream table's own table, and commits to it
    run         programs run in a stream table's workspace
    changelog   commits read back as events
"""
