"""Wall, busy and idle time of one profile: host bound, overlap, serial stretches, steps, clock."""
