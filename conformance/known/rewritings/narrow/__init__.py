"""Numbers of narrow types that are computed in a wider type, and not rounded or truncated between
operations.
"""
