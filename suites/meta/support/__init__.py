"""Parts that several tests share: oracles, builders of programs, synthetic runs."""
