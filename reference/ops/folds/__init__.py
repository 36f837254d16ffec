"""Ops that fold with a body: reduce, reduce_window, select_and_scatter, and map."""
