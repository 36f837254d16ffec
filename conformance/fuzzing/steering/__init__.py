"""Coverage of a campaign, and steering towards rarely covered choices."""
