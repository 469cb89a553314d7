"""One module (or folder) per on-disk format: bytes in, typed records and problems out."""
