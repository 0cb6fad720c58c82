"""Change rows and what can be said about them. Pure: nothing here knows of Spark, SQL text or files."""
