"""What a campaign has met, and what it draws more often because of that."""
