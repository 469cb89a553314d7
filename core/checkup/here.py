"""Environment and cards of this machine, where somebody asks for them: it may not be the one that ran."""

from __future__ import annotations

from npulse.core.analysis import AnalysisOptions, AreaReport
from npulse.core.progress import IsCancelled, never_cancelled

HERE = "this machine"


def environment_here(options: AnalysisOptions) -> AreaReport:
    """What is installed here, as `npulse doctor` says it. Asks npu-smi and the Python on PATH."""
    from npulse.core.device.query import snapshot_now
    from npulse.core.doctor.cards import TYPES, told_by
    from npulse.core.doctor.inventory import Machine, inventory
    from npulse.core.doctor.report import report

    environment = inventory(Machine(), told=told_by(snapshot_now(types=TYPES)))
    return AreaReport("", HERE, report(environment, options.lang, tables=options.tables))


def device_here(options: AnalysisOptions, *, is_cancelled: IsCancelled = never_cancelled) -> AreaReport:
    """The cards of this machine, as `npulse device --now` says it."""
    from npulse.core.device.live import LiveDevices
    from npulse.core.device.report import report
    from npulse.core.device.run_report import settings_of

    found = LiveDevices(settings_of(options)).look(is_cancelled=is_cancelled)
    return AreaReport("", HERE, report(found, lang=options.lang, tables=options.tables))
