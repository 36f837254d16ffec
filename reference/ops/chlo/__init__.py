"""The ops of CHLO, StableHLO's dialect for clients, a file per family."""
