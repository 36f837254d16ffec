"""Parts of the cases of gathers and scatters: roles of dimensions, cases of scatter."""
