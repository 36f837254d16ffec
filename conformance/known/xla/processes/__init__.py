"""What collectives give where processes, or their operands, are taken in another order."""
