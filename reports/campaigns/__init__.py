"""The page of a campaign: findings, tried programs, covered pairs of ops."""
