"""Tests of the near misses of CHLO's ops."""
