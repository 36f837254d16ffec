"""The compiler's part in a failure: the pass that changes a program's meaning, and the change."""
