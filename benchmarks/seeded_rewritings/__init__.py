"""Slips seeded into the optimised modules of compilers, to see whether those that change a result
are flagged.
"""
