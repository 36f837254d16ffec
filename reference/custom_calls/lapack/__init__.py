"""The custom calls that frameworks make of LAPACK."""
