"""Records of every reader of logs as `Fault`s: a module a family of tools; nothing is judged."""
