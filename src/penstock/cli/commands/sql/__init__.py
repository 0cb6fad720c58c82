"""`penstock sql`: reads scripts, runs their statements, and prints the results; `prompt` reads from a person."""
