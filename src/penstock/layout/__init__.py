"""How data files lie: advice on sorting them, laying them out anew, and how long the logs must keep them.

`api`, the scheduler's upkeep and the monitor call this package; `ddl` and `reading` use its figures. It imports
`refresh`. No row changes here.
"""
