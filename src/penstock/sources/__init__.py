"""Sources: what a stream table reads, and what a change of the source means for it."""
