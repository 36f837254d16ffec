"""Programs as simplifiers of compilers leave them."""
