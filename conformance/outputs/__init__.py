"""The JSON that commands write: shapes, versions, and JSON Schemas."""
