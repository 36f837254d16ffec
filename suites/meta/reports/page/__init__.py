"""Tests of the data of the HTML report."""
