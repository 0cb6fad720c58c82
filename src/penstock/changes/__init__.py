"""Changes as values: events, records, their wire formats, and the ring that holds the newest."""
