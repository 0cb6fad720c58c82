"""Proof by force: a scheduler under load is killed again and again; everything must be right after every restart."""
