"""The changelog types in nanoseconds per row, beside the same thing in plain Python.

A call from Python costs tens of nanoseconds by itself, so all figures are of batches, shared out over their rows,
except where a cell says "a call".
"""
