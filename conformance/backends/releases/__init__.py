"""XLA for CPUs of other releases of jaxlib, each in an environment of its own."""
