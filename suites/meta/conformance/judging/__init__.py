"""Tests of the judge, of single operations and of whole programs."""
