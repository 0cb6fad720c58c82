"""The soak: twenty stream tables under continuous writers, as long as one likes, and an account of it at the end."""
