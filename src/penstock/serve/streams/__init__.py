"""Streams: every commit is encoded once for all clients of the same choice, and each client reads at its own pace.

    choice    what a client asked for       framing     how it looks on its transport
    piece     encoded events                broadcast   the newest pieces of one choice, in a ring
    reader    one client's place, in the ring or in the table's own log

Resources open a `reader.Reader`. Nothing here knows a path or a status code.
"""
