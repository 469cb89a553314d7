"""The cards: what npu-smi says of them, live or in files; what of it is not well; before and after.

For others (all texts of the vendor are raw; show them through `safe_text`):

    snapshot.py
        Snapshot(state, code, message, chips, processes, listed_npus, driver_version, tool_version, layout,
                 is_driver_incomplete, is_container, taken_ns, source)     frozen; of one machine at one moment
            .is_known        some chip was told of: only then `chips` says anything about devices
            .chip(npu, chip) -> ChipState | None
            .of_device(id)   -> ChipState | None    the chip that a job calls device `id`
            .processes_of(chip: ChipState) -> tuple[Process, ...] | None    None: not listed
            .to_dict() -> dict     JSON and TOML; [device.before], [device.after] of a round.toml hold it
            Snapshot.from_dict(mapping) -> Snapshot    never raises: what it cannot use is left out
        ChipState(npu, chip, name, health, bus_id, physical_id, device, power_w, temperature_c, ..., values)
        Process(npu, chip, pid, name, memory_mb, container_pid)
        State: "ok", "npu-smi missing", "driver not reachable", "occupied", "no card", "not permitted",
               "timeout", "unknown"
    query.py
        snapshot_now(*, types=TYPES, timeout_s=15, env=None) -> Snapshot    never raises for what npu-smi does
        NpuSmi(program=None, *, timeout_s=15, env=None)    .snapshot(types=TYPES), .run(*words) -> Answer,
            .last (the last good snapshot), .last_age_s; calls of one process go one after another
        find_npu_smi(env=None) -> Path | None
    reading.py
        read_snapshot(path, *, root=None) -> Snapshot    a file; InputError where there is no such file
        read_device(path, *, root=None) -> Reading       snapshot, history and problems of a file
        snapshots_of(manifest) -> (before, after)        each a Snapshot or None, of a round.toml's tables
    history.py
        History(max_samples=720)    .add(snapshot), .add_sample(sample), .keys, .series(key, gauge),
            .growth(key, criteria) -> Growth | None      key: (npu, chip)
    changes.py
        changes(before, after, settings=Settings()) -> tuple[Note, ...]
    judge.py
        notes_of(snapshot, history=None, settings=Settings()) -> tuple[Note, ...]
            Note.finding(lang) -> Finding; Note.short: (en, zh), a few words; Note.key: (npu, chip) or None
    warning.py
        warning_for(snapshots, devices=None, lang="en", settings=Settings()) -> str
            "card 3: 88 C, low frequency"; "" where the cards that measured are well. devices: ids of the job's
            devices, None for all.
    run_report.py
        reports_of, report_of, newest_of, REPORTS (core/analysis.py); look(run, chosen, options) -> Devices
    analyse.py
        Devices    root, round, settings, artifacts, sources, problems; .rows: (source, chip) of each table row
        now(settings=Settings(), watch=...) -> Devices    of the live command
    view.py
        device_view(found, lang) -> DeviceView (an AreaView; .sparkline(row, gauge), .processes(row))
    report.py
        report(found, lang="en", tables=False) -> Report

A manifest's form, kind npulse.round:

    [device.before]                 # [device.after] likewise; either may be missing
    state = "ok"                    # only what is known is there: TOML has no null, and missing is not 0
    taken_ns = 1767225600000000000
    driver_version = "25.2.0"
    listed_npus = [0, 1]            # cards of which npu-smi listed the processes
    [[device.before.chips]]
    npu = 0
    chip = 0
    health = "OK"
    temperature_c = 54.0
    values = { "HBM Double Bit Error Count" = "0" }
    [[device.before.processes]]
    npu = 0
    chip = 0
    pid = 4711
    name = "python3"
    memory_mb = 54366
"""
