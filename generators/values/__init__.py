"""The contents of input tensors: profiles of values by name and seed."""
