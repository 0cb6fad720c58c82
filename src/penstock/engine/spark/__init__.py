"""The Spark session: started or checked, its jars, its settings, its threads, what its catalog must know.

Imports `delta` and `failures`. Opening a warehouse, binding and running go through it.
"""
