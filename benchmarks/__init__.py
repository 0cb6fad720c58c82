"""Benchmarks: ratios measured side by side in one run. They assert nothing; people read the tables."""
