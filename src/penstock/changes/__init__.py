"""What a change is: operations, records, references, events, envelopes and the ways between them.

Weights are the single truth; every operation code is a view of them. Nothing here knows Spark, Delta or a catalog.
"""
