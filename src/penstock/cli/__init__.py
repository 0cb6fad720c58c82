"""The command line: the only home of typer and rich. Nothing here computes anything.

main      the process, from its first moment on
app       all commands and what they have in common
commands  one file per command, in rooms by what a person wants to do
context   what every command has at hand: the opened warehouse, shared options, questions, errors
render    rows, moments and changes as text, tables and JSON; knows no command

A command imports what it needs to run when it runs: help answers at once, and starts no Spark.
"""
