"""The profilers' SQLite databases: read only, whoever made them."""
