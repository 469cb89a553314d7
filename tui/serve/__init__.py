"""The workbench in a browser: one process of it a page, behind a small web server (textual-serve)."""
