"""Parts of tests of ops, by family."""
