"""The commands: one file each, named after what is typed.

define    make, change and drop what a warehouse holds
maintain  keep it fresh, exact and well laid out
observe   see how fresh it is, and why
changes   follow what is committed
sql       statements, from the command line, files, a pipe or a prompt
"""
