"""Where the time of a step goes: idle, communication or computing, then which operator, then why."""
