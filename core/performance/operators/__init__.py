"""What the operator table says: what takes the time, of which class and bound, what to do about it."""
