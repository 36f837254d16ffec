"""What commands write as JSON: the shapes, their versions, and their JSON Schemas."""
