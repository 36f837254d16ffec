"""Small programs that compilers rewrite, a file for each kind of rewriting."""
