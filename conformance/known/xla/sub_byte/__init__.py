"""Elements of less than a byte, as compilers confuse those that share a byte."""
