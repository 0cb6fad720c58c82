"""Spark and Delta: the only home of pyspark and deltalake.

Everything above describes what to read, compute and commit; only this package does it.
"""
