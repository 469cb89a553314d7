"""What a user asks of a comparison: leading figures, a limit of the error, layers, outputs, one operator."""
