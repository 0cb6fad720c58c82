"""Which rows a subscriber asked for: conditions over Arrow rows, with Spark's meaning of them.

Imports nothing else of this package. `lang` reads conditions into it, subscriptions choose rows by it.
"""
