"""Campaigns: programs of several operations are tried; failures are minimised, deduplicated and
stored.
"""
