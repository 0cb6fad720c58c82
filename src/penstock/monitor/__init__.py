"""What people and their tools see of a warehouse: status, health, metrics, alerts, lineage, diagnosis.

Imports `refresh` and below. It reads the catalog, and writes alerts to it.

Open to every package: diagnose.diagnosis, diagnose.gather, health, http, info, json_log, monitor, picture, stats,
    status, unchanged, views.
"""
