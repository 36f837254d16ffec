"""Tests of the page of a campaign."""
