"""The reference as a backend, with seeded faults on request."""
