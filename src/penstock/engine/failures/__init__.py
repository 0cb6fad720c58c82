"""What goes wrong in Spark, delta-rs and storages, and which of our errors it means.

Imports nothing of the engine. Every other room raises through it; `errors.py` holds the classes themselves.

Open to every package: data_errors, spark_errors, spark_message.
Open to the engine: read_failure, silence.
"""
