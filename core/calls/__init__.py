"""One dump as a sequence of operator calls: reading a rank, what made which input, layers, API names.

Needs no second dump: every area that looks at operator calls builds on it.
"""
