"""Numbers that operations need: ranges of results, and needs of operands by op."""
