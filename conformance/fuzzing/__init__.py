"""Campaigns: programs of several operations tried, what fails made small, told apart and kept."""
