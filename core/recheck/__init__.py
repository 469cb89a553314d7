"""One operator call computed again on the CPU from its dumped inputs: is its output what its dtype allows?

recheck(run, "Functional.softmax.0.forward") -> RecheckReport      the command, `npulse.recheck`
check_call(dump, call, root) -> Check                              one call of a dump that is read already
"""
