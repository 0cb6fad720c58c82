"""One refresh: decide what to do, do it in stages, record what really ran."""
