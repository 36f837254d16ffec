"""Detection of small changes in the reference's source, with the reference as the backend."""
