"""Origins looked at once more: narrowed to the call that made NaN or Inf, and followed over the ranks."""
