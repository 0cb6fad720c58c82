"""What every command has at hand: the opened warehouse, shared options, questions, errors, and the line of progress."""
