"""The columns of the matrix op x element type, and the cases planned for a cell."""
