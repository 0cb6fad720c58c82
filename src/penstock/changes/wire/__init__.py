"""The forms in which changes leave Penstock: rows and events as Arrow and as JSON, byte by byte.

Imports nothing else of this package. Subscriptions, the server and the command line write these forms.
"""
