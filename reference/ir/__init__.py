"""What a program is: functions, regions, operations, values, types, and the record of an op."""
