"""All areas of a run against the criteria: one verdict, what to open first and why, what is missing.

For others:

    check.py        check_up(run, options, criteria, *, is_here, facts, tails, prepare, progress,
                        is_cancelled, on_update) -> CheckUp    records: core/criteria.py
    judge.py        judged(facts, reports, criteria, *, lang, round_name, prepare) -> CheckUp    pure, of
                        reports that are there: {area id, or "environment": its reports, oldest round first}
    environment.py  environment_of(run, round_name, lang) -> AreaReport or None
    commands.py     facts_of_run(run) -> RunFacts; capture_command(facts, kind)
    criteria_file.py  default_criteria(), read_criteria(path), parse_criteria(text, path) -> CriteriaFile
    run_report.py   criteria_in_force(named, usual) -> CriteriaFile; silences_of(criteria)
    report.py       report(check_up, lang, *, tables) -> Report
"""
