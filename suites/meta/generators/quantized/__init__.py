"""Tests of cases of quantized tensors."""
