"""What StableHLO's interpreter computes in place of what is asked, found from its source."""
