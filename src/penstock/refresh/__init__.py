"""Refreshes: one stream table brought to pinned versions (`run`), and a part of the graph at one vector (`run_graph`).

`api` and `schedule` call `run_graph`; `ddl`, `reading`, `layout`, `monitor` and `subscribe` use the `Warehouse`. This
package imports `engine` and below. Its rooms, each importing only those before it:

    stages      what one refresh does, stage by stage
    record      what is written down of it
    run         the stages in order, under a lease
    warehouse   what every piece of work shares: session, catalog, settings
    run_graph   many refreshes, upstreams first
"""
