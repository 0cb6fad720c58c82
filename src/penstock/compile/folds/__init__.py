"""Folds: aggregates kept as a few hidden columns, changed by adding a delta to them.

    state(R + ΔR)  =  fold(state(R), state(ΔR))

A fold exists only where its visible value equals Spark's own to the bit. Where a group loses that (a change took its
extreme value away, an average outgrew exact doubles), the fold asks for a recomputation of that group.
"""
