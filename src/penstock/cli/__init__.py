"""The command line: one file per command, and the only home of typer and rich. Nothing here computes anything."""
