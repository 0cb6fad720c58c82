"""A stream table's own Delta table: its state, the files of a change, and the one commit that publishes them.

Imports `read` and below. A refresh ends here; `optimize` lays files out anew here.

Open to every package: apply, commit, handles, layout, merge_predicate, rewrite, storage, storage_state,
    table_properties.
Open to the engine: apply_spark, staged.
"""
