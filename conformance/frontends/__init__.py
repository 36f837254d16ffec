"""The files of users: what they hold, what tests in them assert, what values are called."""
