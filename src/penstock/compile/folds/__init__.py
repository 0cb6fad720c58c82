"""Folds: aggregates kept as a few hidden columns, changed by adding a delta to them.

    state(R + ΔR)  =  fold(state(R), state(ΔR))

Only where the visible value that comes out is Spark's own to the bit. Where a particular group leaves that ground (an
extreme value was retracted, an average outgrew exact doubles), the fold asks for that group to be recomputed.
"""
