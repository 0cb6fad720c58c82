"""Why a stream table is stale, or why it can be trusted, in plain words and with what to do."""
