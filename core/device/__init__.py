"""The cards: what npu-smi says of them, live or in files; what of it is not well; before and after.

For others (all texts of the vendor are raw; show them through `safe_text`):

    snapshot.py
        Snapshot(state, code, message, chips, processes, listed_npus, driver_version, tool_version, layout,
                 is_driver_incomplete, is_container, missing, taken_ns, source)    frozen; at one moment
            .is_known        some chip was told of: only then `chips` says anything about devices
            .chip(npu, chip=0) -> ChipState | None
            .of_device(id) -> ChipState | None, .device_of(chip) -> int | None    what a job calls it
            .processes_of(chip: ChipState) -> tuple[Process, ...] | None    None: nobody listed them
            .to_dict() -> dict     JSON and TOML; [device.before], [device.after] of a round.toml hold it
            Snapshot.from_dict(mapping) -> Snapshot    never raises: what it cannot use is left out
        ChipState(npu, chip, name, health, power_w, temperature_c, frequency_mhz, rated_mhz, ..., values)
            .key, .label, .used_mb, .total_mb, .count(key)
        Process(npu, chip, pid, name, memory_mb, container_pid)
        State: "ok", "npu-smi missing", "driver not reachable", "occupied", "no card", "not permitted",
               "timeout", "unknown"
    query.py
        snapshot_now(*, types=TYPES, timeout_s=15, env=None, is_cancelled) -> Snapshot    never raises for
            what npu-smi does
        NpuSmi(program=None, *, timeout_s, budget_s, env=None, root=Path("/"))    .snapshot(types),
            .reading(types), .run(*words) -> Answer, .last, .last_age_s; one call at a time
        find_npu_smi(env=None) -> Path | None; TYPES
    surroundings.py
        surroundings(root=Path("/")) -> Surroundings(is_container, missing)
    reading.py
        read_snapshot(path, *, root=None) -> Snapshot; read_device(path, *, root=None) -> Reading
            (snapshot, history, problems); InputError where there is no such file
        snapshots_of(record) -> (before, after)      each a Snapshot or None, of a round's record
    history.py
        History(max_samples=720)    .add(snapshot), .series(key, gauge), .peak, .slow, .moved, .growth(key)
    judge.py, changes.py (error_judge.py, memory_judge.py)
        notes_of(snapshot, history=None, settings=None) -> tuple[Note, ...]
        changes(before, after, settings=None) -> tuple[Note, ...]
            Note.finding(lang) -> Finding; .short: (en, zh), a few words; .key: (npu, chip) or None;
            .is_unwell: figures measured on this card are not to be trusted
    warning.py
        warning_for(snapshots, devices=None, lang="en", settings=None) -> str
            "card 3: 88 C, low frequency"; "" where the cards that measured are well
        unwell_of(snapshots, devices=None, ...) -> tuple[Unwell, ...]; words_for(unwell, lang) -> str
    live.py
        LiveDevices(settings=None, smi=None)    .look(types=TYPES) -> Devices, with the history of all looks
    analyse.py, run_report.py, report.py, view.py
        Devices(root, round, settings, artifacts, sources, notes, changes, problems, is_live)    .rows, .main
        REPORTS, look(run, chosen, options) -> Devices; report(found, lang, tables) -> Report
        device_view(found, lang) -> DeviceView: an AreaView with .source(row), .chip(row), .notes(row),
            .processes(row), .history(row, gauge) -> Series for sparklines

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
