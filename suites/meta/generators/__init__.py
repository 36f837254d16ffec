"""Tests of the strategies and of the cases planned for a cell."""
