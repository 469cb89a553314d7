"""What int8 does to dumped activations: what is clipped, which scale would be needed, at which error."""
