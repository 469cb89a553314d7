"""Several ranks of one job: who is slow, who waits, which link is slow, who recorded nothing."""
