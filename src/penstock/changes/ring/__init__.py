"""The newest changes of all collections in memory, for consumers that poll with a position.

Imports `wire`. `penstock.subscribe.all_changes` fills and reads it.
"""
