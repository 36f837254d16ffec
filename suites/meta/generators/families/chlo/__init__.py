"""Tests of the cases of CHLO's ops."""
