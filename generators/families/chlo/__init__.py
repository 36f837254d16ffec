"""Builders of cases of the ops of CHLO, a file per family."""
