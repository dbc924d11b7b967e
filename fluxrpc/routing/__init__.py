"""Which route serves a request: what routes are, how they fare, how one is chosen, what is tried next."""
