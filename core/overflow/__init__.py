"""Where NaN, infinities and clipped values are in one dump, and where they began."""
