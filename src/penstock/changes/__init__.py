"""What a change is: operations, records, references, events, envelopes, ways between them, and a ring of the newest.

Weights are the single truth; every operation code is a view of them. Nothing here knows Spark, Delta or a catalog.
"""
