"""Benchmarks: times measured side by side in one run. They assert nothing about time; people read the tables."""
