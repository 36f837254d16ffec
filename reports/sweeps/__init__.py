"""The page of a sweep: worst errors by op and element type, failures, errors over the axis."""
