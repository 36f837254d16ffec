"""Cases of quantized tensors, derived from ordinary cases."""
