"""The reference as a backend, which can be told to misbehave."""
