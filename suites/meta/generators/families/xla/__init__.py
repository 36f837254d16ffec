"""Tests of cases of XlaBuilder's ops."""
