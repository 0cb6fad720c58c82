"""Where alerts go, one file per place."""
