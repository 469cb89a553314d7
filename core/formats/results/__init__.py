"""Tables in which tools of others wrote what a comparison of theirs found: one record for all of them."""
