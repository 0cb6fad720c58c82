"""Who is timed: a stream table's refresh, and what one would write without it."""
