"""Cases of quantized tensors, made from the ordinary ones."""
