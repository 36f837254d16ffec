"""Programs as data: functions, regions, operations, values and types; and the record of an op."""
