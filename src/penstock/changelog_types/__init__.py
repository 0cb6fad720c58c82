"""A library of changelog types: records, references, notations, retractable aggregates, checkpoints, late data.

It stands beside the product: import from it what you need. No refresh, command or server uses it, and it imports
nothing but `penstock.changes`, names and errors. What a sink or a window comes to use moves to where it is used.
"""
