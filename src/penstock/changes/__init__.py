"""Changes of stream tables: how they are handed out (`wire`), chosen (`filter`) and kept for polling (`ring`).

Weights are the single truth; every operation code is a view of them. Nothing here knows Spark, Delta or a catalog;
`subscribe` and `serve` call it, `lang` reads filters with it.
"""

import sys

from penstock.changes.moved import OldNames

if not any(isinstance(each, OldNames) for each in sys.meta_path):
    sys.meta_path.append(OldNames())
