"""Slips seeded into the optimised modules of compilers: are all that change a result flagged?"""
