"""Coverage of a campaign, and its steering to what was covered seldom."""
