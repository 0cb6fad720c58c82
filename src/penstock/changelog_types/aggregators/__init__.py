"""Aggregates that can take values back: one file each, all under the law of `retractable_aggregator.py`."""
