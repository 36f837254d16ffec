"""Parts of the cases of collectives: replica groups, exchanges of ragged parts."""
