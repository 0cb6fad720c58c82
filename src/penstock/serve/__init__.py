"""Changes over HTTP: pages, streams and watches of what stream tables changed, for clients in any language.

    server      the socket and the event loop · app      all routes behind the guards
    resources   what each path answers, one file each
    streams     one encoded stream for all clients of the same choice, and each client's place in it
    access      who may connect, and who may read which stream table
    http        parameters read, answers written, and what the API document says of both

`penstock serve` starts a `server.Server`; nothing else of this package is used outside of it but `Access` and `Limits`.
"""
