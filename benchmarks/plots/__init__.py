"""Pictures for the documentation: each is a function from cells to a drawing, or None if no cell is about it."""
