"""Tests of the documentation: pages are run, their links are followed, the site is built."""
