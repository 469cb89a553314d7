"""Results of msOpProf (OPPROF_*): one kernel on a card or in the simulator."""
