"""The operator tree and its delta rules, one operator per file.

    delta(interval)  =  at(after) − at(before)          as Z-sets

for every operator, whatever moved in the interval; that is the only law, and the oracle checks it.
Imports the basics alone; `compile` builds the trees, the engine runs the relations that they write.
"""
