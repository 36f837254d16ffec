"""What XLA is known to compute in place of what is asked."""
