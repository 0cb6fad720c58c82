"""Changes over HTTP: pages, streams and watches of what stream tables changed, for clients in any language."""
