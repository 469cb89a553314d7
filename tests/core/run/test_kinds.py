from __future__ import annotations

from typing import get_args

from npulse.core.run import signatures, sniff
from npulse.core.run.kinds import KINDS, Area, kinds_of


def test_every_kind_says_what_it_is_and_how_it_is_made() -> None:
    for name, kind in KINDS.items():
        assert kind.id == name
        assert kind.title and kind.title_zh and kind.captured_by, name
        assert kind.area in get_args(Area)


def test_these_kinds_are_read() -> None:
    read = {kind.id for kind in KINDS.values() if kind.is_read}
    monitor = {"msprobe.monitor_v1", "msprobe.monitor_v2", "msprobe.monitor_anomaly"}
    settings = {"cann.acl_config", "device.environment", "device.script", "npulse.round"}
    assert {"msprobe.dump", *monitor, *settings} <= read


def test_what_an_overflow_was_switched_on_with_is_of_that_area_too() -> None:
    settings = {"cann.acl_config", "device.environment", "device.script", "npulse.round"}
    assert settings <= {kind.id for kind in kinds_of("overflow")}
    assert KINDS["device.script"].areas == ("device", "overflow", "memory")
    assert KINDS["npulse.round"].areas == ("rounds", "overflow", "memory")


def test_every_area_has_kinds_and_they_make_up_the_table() -> None:
    by_area = [kinds_of(area) for area in get_args(Area)]
    assert all(by_area)
    assert {k.id for kinds in by_area for k in kinds} == set(KINDS)
    assert "msprobe.dump" in {k.id for k in kinds_of("overflow")}  # NaN and Inf are looked for in it too


def test_signatures_name_kinds_of_the_table() -> None:
    named = {row[0] for row in signatures.CSV_COLUMNS}
    named |= {rule.kind for rule in signatures.JSON_KEYS}
    named |= {row[0] for row in (*signatures.SQLITE_TABLES, *signatures.WORKBOOK_TEXTS)}
    named |= {row[0] for row in signatures.TEXT_LINES}
    named |= {kind for _, kind in sniff._NAMED}
    assert named <= set(KINDS)
