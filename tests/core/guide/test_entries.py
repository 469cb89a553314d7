"""The quick tables: every code, pitfall and rule is found by its code and by words of either language."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.areas import all_rules
from npulse.core.device.faults import FAULTS
from npulse.core.formats.error_codes import ERROR_CODES, family_of
from npulse.core.guide import all_entries, search
from npulse.core.guide.entries import KINDS, SOURCES
from npulse.core.guide.pitfalls import PITFALLS


def test_every_fact_of_the_tree_is_an_entry_once() -> None:
    found = [entry.code for entry in all_entries() if entry.kind in ("code", "health", "rule")]
    assert len(found) == len(set(found))
    assert {*ERROR_CODES, *FAULTS, *(rule.id for rule in all_rules())} <= set(found)
    assert sum(entry.kind == "pitfall" for entry in all_entries()) == len(PITFALLS) > 40


def test_every_entry_is_told_in_both_languages_with_its_source() -> None:
    for entry in all_entries():
        assert entry.kind in KINDS and all(entry.source), entry
        for english, chinese in (entry.title, entry.meaning, entry.next_step):
            assert bool(english) == bool(chinese), entry
            if entry.kind != "rule":
                assert english.isascii(), entry
        if entry.kind == "pitfall":
            assert re.search("[\u4e00-\u9fff]", entry.title[1] + entry.meaning[1]), entry
            assert re.search("[\u4e00-\u9fff]", entry.next_step[1]), entry
    assert {one.source for one in PITFALLS} <= set(SOURCES)


@pytest.mark.parametrize(
    ("query", "code", "kind"),
    [
        ("507035", "507035", "code"),
        ("ez9999", "EZ9999", "code"),
        ("0x31", "0x31", "code"),
        ("-8005", "-8005", "code"),
        ("80E01801", "80E01801", "health"),
        ("VEC_UB_WRAP_AROUND", "bit 62", "bit"),
        ("memory.race", "memory.race", "rule"),
        ("mssanitizer 0", "mssanitizer 0", "exit"),
        ("退出码 msopprof", "msopprof 0", "exit"),
        ("norm infinity", "msprobe", "pitfall"),
        ("饱和 65504", "CANN", "pitfall"),
        ("E1001", "E1001", "code"),
        ("device out of memory", "207018", "code"),
    ],
)
def test_the_first_hit_is_the_one_that_was_meant(query: str, code: str, kind: str) -> None:
    hit = search(query)[0]
    assert (hit.code, hit.kind) == (code, kind)


def test_words_in_a_row_come_before_words_somewhere() -> None:
    """Each of them is in many an entry: "memory" in every rule of that area, "out" in "without"."""
    found = search("out of memory")
    n_told = sum(bool(re.search("out.of.memory", " ".join((one.code, *one.title)))) for one in found)
    assert n_told > 3
    assert all(
        "out of memory" in " ".join((one.code, *one.title)).replace("-", " ") for one in found[:n_told]
    )


def test_a_code_of_the_form_of_cann_is_told_by_its_module() -> None:
    (hit,) = search("EI7777")
    assert "HCCL" in hit.title[0] and "HCCL" in hit.title[1]
    assert search("EI77777777") == ()


def test_every_code_finds_itself_first() -> None:
    codes = [entry for entry in all_entries() if entry.kind == "code"]
    assert [entry for entry in codes if search(entry.code, 1) != (entry,)] == []


@given(st.text(max_size=60))
def test_what_is_found_holds_every_word_and_a_further_word_finds_no_more(query: str) -> None:
    found = search(query)
    words = query.casefold().split()
    if not any(family_of(word.upper()) for word in words):
        assert [entry for entry in found if not all(word in entry.searched for word in words)] == []
        assert set(search(f"{query} memory")) <= set(found)
