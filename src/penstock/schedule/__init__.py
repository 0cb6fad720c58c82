"""When to refresh, and what to start next: one leader per warehouse, its dispatcher, and the loop around them.

Imports `refresh` and below. `ps.run()`, `penstock run` and `penstock tick` start it.

Open to every package: backoff, clock, due, refresh_executor, running, scheduler, steady_clock, upkeep.
"""
