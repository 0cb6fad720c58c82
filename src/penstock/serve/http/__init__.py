"""Parameters read, answers written, and how the API document describes both. Knows no resource and no stream."""
