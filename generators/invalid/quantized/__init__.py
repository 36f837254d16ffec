"""Quantized near misses of elementwise ops and of products."""
