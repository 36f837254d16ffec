"""Transformations of programs: pure functions, independent of backends and rules.

Most of them transform main. Values are identified by their names in main, which are unique within a
function.
"""
