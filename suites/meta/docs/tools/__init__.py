"""Tests of the tools that write pages and take pictures."""
