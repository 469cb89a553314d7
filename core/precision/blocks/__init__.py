"""Two tensors compared block by block: figures in one pass, places and patterns in a second."""
