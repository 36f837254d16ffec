"""What a campaign keeps: its journal, a folder for each finding, a corpus of them; replayed."""
