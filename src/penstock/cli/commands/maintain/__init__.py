"""Commands that keep stream tables fresh, exact and well laid out, and the machine and catalog sound."""
