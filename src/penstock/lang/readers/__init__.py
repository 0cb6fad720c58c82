"""The statements of ours, one file each: its grammar, and how it is read."""
