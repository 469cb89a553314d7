"""Reports of msSanitizer: memcheck, racecheck, initcheck, synccheck, leaks, registers (2023 to 26.x)."""
