"""What comes of subnormal numbers taken for zero."""
