"""The classes of PySpark whose objects callers hand in, by name: checks of arguments need them at run time."""

from pyspark.sql import DataFrame, SparkSession

__all__ = ["DataFrame", "SparkSession"]
