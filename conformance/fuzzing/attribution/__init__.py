"""Causes of findings: the program compiled and written otherwise, and the vote of a third
implementation.
"""
