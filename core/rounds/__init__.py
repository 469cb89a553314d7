"""The story of an archive: one row a round, what changed before it, what each area's figures say of it."""
