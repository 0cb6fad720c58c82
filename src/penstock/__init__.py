"""Stream tables for Apache Spark: a query, a freshness target, and a Delta table kept equal to the query."""

__version__ = "0.1.0"
