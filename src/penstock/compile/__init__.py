"""From a bound tree to a maintenance plan: what to store, how to fill it, how to change it."""
