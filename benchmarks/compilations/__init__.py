"""Purposes of the compilations of a run, and an upper limit of what planning could save."""
