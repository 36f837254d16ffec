"""What causes a finding: its program compiled and written otherwise; who else reads it so."""
