"""Elementary functions, real and complex, certified by ball arithmetic."""
