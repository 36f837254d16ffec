"""Tests of cases that gather and scatter."""
