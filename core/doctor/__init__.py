"""What is installed, what goes together, what is missing, what can be captured: of this machine or of a text.

For others (texts of the vendor are raw; show them through `safe_text`):

    facts.py
        Environment    frozen; of this machine (`is_live`) or of texts. None, absent, "": not told
            .toolkits, .toolkit (the one that is used), .driver, .firmware, .nnal, .ops    Component or None
            .packages {name: Package}, .tools {name: path or ""}, .devices (None: not looked at)
            .facts {"arch", "os", "glibc", "python", ...: Fact}, .variables {name: Fact}, .errors
        Fact(value, place), Place(artifact, line): str(place) is "FILE:LINE"
    inventory.py
        inventory(machine=None, *, told={}) -> Environment    never raises for what is missing; a second
        Machine(root="/", variables=None, python=None, timeout_s=15)    root: of the file system;
            variables: the job's, None for this process's; python: the job's, None for the one on its PATH
            told: what npu-smi says, {"driver": ..., "board-compatibility": ...}; nobody asks it in here
    reading.py
        read_environments(paths, *, root=None) -> Environment    texts; InputError: no such file
        read_recorded(paths, versions, *, root=None) -> Environment    of a round: its texts and the flat
            versions of its manifest; what cannot be read is a problem
    findings.py
        alignment(environment, lang="en") -> tuple[Finding, ...]    versions and variables, for a preflight;
            "error": a conflict, "warning": likely one, "note" with role "unknown": could not be judged
        all_findings(environment, lang="en") -> tuple[Finding, ...]    with loader errors and what is missing
    captures.py
        captures(environment) -> tuple[Capture, ...]    KIND x tool: Capture(kind, tool,
            is_possible, why, repair); is_possible: True, False or None (not told); why, repair: (en, zh)
    versions.py
        versions_of(environment) -> dict[str, str]    flat, for round.toml: {"cann": "8.2.RC1",
            "driver": "25.2.0", "firmware": ..., "nnal": ..., "ops": ..., "python": ..., "torch": ...,
            "torch_npu": ..., ...}; what is not known is left out
    report.py
        report(environment, lang="en", tables=False) -> Report

Findings are of the area "env"; their `location` is the line that tells the fact, `next_step` the command that
repairs it. No tool of CANN is started and nothing is imported into this process.
"""
