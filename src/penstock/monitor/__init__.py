"""What people look at: status, information, graph. Reads the catalog, changes nothing."""
