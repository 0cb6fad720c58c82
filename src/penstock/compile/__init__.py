"""From a bound tree to a maintenance plan: what to store, how to fill it, how to change it.

Imports `operators` and knows no Spark: the engine binds the tree, has it compiled and runs what comes out.
"""
