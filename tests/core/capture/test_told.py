"""The plan in lines: all of it, in both languages, with and without the preflight."""

from __future__ import annotations

from pathlib import Path

import pytest

from npulse.core.capture.session import Prepared, prepare
from npulse.core.capture.told import plan_lines

from .doubles import PlainDriver, python, request_for


@pytest.mark.parametrize(("lang", "heading"), [("en", "preflight:"), ("zh", "预检:")])
def test_the_plan_without_its_preflight_is_all_of_the_plan(tmp_path: Path, lang: str, heading: str) -> None:
    (tmp_path / "work").mkdir()
    request, driver = request_for(tmp_path / "work" / "diag", python("pass"), lang=lang), PlainDriver()
    prepared = prepare(request, driver)
    whole = list(plan_lines(request, driver, prepared, request.lang))
    assert heading in whole and whole[-1] == '  | {"step": []}'
    plan = Prepared(prepared.folder, prepared.plan, ())
    without = list(plan_lines(request, driver, plan, request.lang, with_preflight=False))
    n = whole.index(heading)
    n_of_preflight = len(whole) - len(without)
    assert n_of_preflight > 1 and without == whole[:n] + whole[n + n_of_preflight :]
    assert heading not in without
