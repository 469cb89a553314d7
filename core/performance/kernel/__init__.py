"""One kernel as msOpProf shows it: advice, pipes, roofline, balance of its cores."""
