"""The files of users: their programs, the assertions of tests, the names of values."""
