"""Passes over the operator tree, one per file."""
