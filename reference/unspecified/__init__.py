"""What the specification leaves open of the results of each family."""
