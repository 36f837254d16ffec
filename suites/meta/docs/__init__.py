"""Tests of the documentation: pages are run, the site is built, generated pages are compared."""
