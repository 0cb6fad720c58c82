"""The changelog of a stream table, read back from its own commits without Spark.

Imports `write` and below. Subscriptions, the server and `penstock subscribe` read it; no refresh does.

Open to every package: changelog.
"""
