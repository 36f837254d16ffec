"""Tests of near misses of XlaBuilder's ops."""
