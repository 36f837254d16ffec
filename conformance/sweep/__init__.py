"""Sweeps: an op on every value of a type, or on a stratified sample, with statistics of its
errors.
"""
