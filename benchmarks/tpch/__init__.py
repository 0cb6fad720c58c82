"""The TPC-H proof: the 22 queries as stream tables, through refresh functions and updates, against recomputation."""
