"""The parts of the HTML report: the data embedded in it, from which its script draws."""
