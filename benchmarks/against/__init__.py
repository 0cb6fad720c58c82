"""This commit against another one, both in one run, turn by turn."""
