"""Faults seeded in a backend, of single ops and of rewritings: does a campaign find them?"""
