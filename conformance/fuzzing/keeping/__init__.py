"""Files of a campaign: its journal, a folder for each finding, a corpus; replay of findings."""
