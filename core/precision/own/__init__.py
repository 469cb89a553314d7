"""Checks that need no golden side: what a capture says of itself, alone and beside a comparison."""
