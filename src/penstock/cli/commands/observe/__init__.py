"""Commands that only show: status, causes, history, totals, alerts, graph. They start no Spark and change nothing."""
