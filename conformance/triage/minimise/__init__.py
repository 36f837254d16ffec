"""Failing programs made as small as they can be while they fail in the same way."""
