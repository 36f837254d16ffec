"""Seeded faults: mutations of ops, wrong results, changed backends, a faulty plugin."""
