"""Cases: a program, recipes for its inputs, shapes and element types."""
