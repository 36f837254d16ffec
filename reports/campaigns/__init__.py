"""The page of a campaign: findings, programs, covered pairs of ops."""
