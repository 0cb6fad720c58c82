"""Subscriptions: who follows the changes of stream tables, the position of each, and what it receives.

    subscribe      begins one (`start`, `choose`, `backpressure`) · subscribers    lists the durable ones
    feed           watches the logs and sends notices of commits (`table_feed`, `commit_notice`)
    subscription   one subscriber: `inbox` holds what waits, `fetch` reads it, `position` is how far it got
    all_changes    all stream tables in one order (`journal`, `followed_tables`, `stored_events`)
    key_watch      the changes of one key · callback       events handed to a function

The API, the server and the command line subscribe; nothing here needs Spark.
"""
