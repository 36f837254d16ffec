"""What several tests of the project need: oracles, builders of programs, made-up runs."""
