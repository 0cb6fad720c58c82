"""Random queries over the whole grammar, through random histories, against plain Spark. See `__main__.py`."""
