"""Two rounds side by side: what became faster, what it cost next door, what is noise."""
