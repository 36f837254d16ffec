"""Tests of XlaBuilder's ops."""
