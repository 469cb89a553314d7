"""msprobe captures: dump.json / debug.json, stack.json, construct.json (PyTorch, MindSpore, 1.0 to 26.x)."""
