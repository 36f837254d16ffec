"""Tests of the mutation test."""
