"""Commands that give changes as they are committed: on the terminal, as lines for programs, over HTTP."""
