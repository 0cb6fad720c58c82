"""Commands that make, change and drop: a warehouse, and the definitions of stream tables."""
