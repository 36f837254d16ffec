"""Tests of near misses with quantized tensors."""
