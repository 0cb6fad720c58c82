"""The Spark session: started or checked, its jars, its settings, its threads, what its catalog must know.

Imports `delta` and `failures`. Opening a warehouse, binding and running go through it.

Open to every package: calls, columns_as_defined, doctor, held_names, plain_tables, pyspark_types, python_query,
    register_without_reading, registry, result_settings, schema_text, session, statement, statement_effects, threads,
    tuning.
Open to the engine: catalyst, jvm.
"""
