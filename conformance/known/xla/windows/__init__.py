"""What is computed in place of convolutions and reductions by windows."""
