"""Programs that make or run the pages of the documentation; the site does not contain them."""
