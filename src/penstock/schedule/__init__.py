"""When to refresh: the clock and the grid of stamps."""
