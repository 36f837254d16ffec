"""Programs made from programs: pure functions on the program structure, of no backend's or rule's.

Most of them work on main. Values are named by the name they have there, which no two of a function
may share.
"""
