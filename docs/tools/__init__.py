"""Programs that generate, test or illustrate the pages of the documentation; the site does not
contain them.
"""
