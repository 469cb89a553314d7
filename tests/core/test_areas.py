"""The list of areas and the rules that `npulse rules` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.areas import AREAS, RULES_BESIDE, all_rules, first_area, rule_by_id
from npulse.core.errors import UsageError
from npulse.core.run.model import Artifact, Round, Run


def test_areas_have_one_name_each_in_both_languages() -> None:
    ids = [area.id for area in AREAS]
    assert len(ids) == len(set(ids))
    assert "precision" in ids
    for area in AREAS:
        assert all(area.title) and all(area.question)


def test_rules_are_sorted_and_belong_to_a_built_area_or_a_command() -> None:
    ids = [rule.id for rule in all_rules()]
    assert ids == sorted(set(ids))
    built = {area.id for area in AREAS if area.is_built}
    assert {rule.partition(".")[0] for rule in ids} <= built | set(RULES_BESIDE)
    assert not built & set(RULES_BESIDE)
    assert {rule.severity for rule in all_rules()} <= {"error", "warning", "note"}


def test_a_rule_is_found_by_its_id_and_a_near_one_is_named() -> None:
    for rule in all_rules():
        assert rule_by_id(rule.id) is rule
    with pytest.raises(UsageError) as caught:
        rule_by_id("precision.oprator")
    assert "precision.operator" in str(caught.value.hint)
    with pytest.raises(UsageError):
        rule_by_id("")


@pytest.mark.parametrize(
    ("kinds", "area"),
    [
        (("npulse.round", "prof.kernel_details"), "performance"),
        (("device.environment", "prof.kernel_details"), "performance"),
        (("npulse.round", "sanitizer.mssanitizer"), "memory"),
        (("npulse.round", "msprobe.dump"), "overflow"),
        (("npulse.round",), "rounds"),
    ],
)
def test_a_manifest_beside_the_data_does_not_choose_the_pane(kinds: tuple[str, ...], area: str) -> None:
    artifacts = tuple(Artifact(kind, Path("/x") / kind, kind, 1, 1) for kind in kinds)
    assert first_area(Run(Path("/x"), (Round("", artifacts),))) == area
