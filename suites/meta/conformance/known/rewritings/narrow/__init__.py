"""Tests of conformance/known/rewritings/narrow."""
