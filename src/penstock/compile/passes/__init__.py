"""The passes of the compiler, one per file; `PASSES` in `compile/plan.py` has their order."""
