"""The page of a campaign: what was found, tried and met."""
