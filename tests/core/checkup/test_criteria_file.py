"""The criteria file: what it may say, and that each mistake is told with its key and its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.areas import AREAS
from npulse.core.checkup.criteria_file import (
    MAX_BYTES,
    CriteriaFile,
    default_criteria,
    default_text,
    parse_criteria,
    read_criteria,
)
from npulse.core.checkup.criterion import CRITERIA, ORDER
from npulse.core.checkup.measured import TAKES
from npulse.core.errors import InputError


def test_the_bundled_file_sets_what_it_says() -> None:
    found = default_criteria()
    assert found.limit("precision.cosine") == 0.99 and found.limit("overflow.origins") == 0
    assert found.is_on("memory.complete") and found.limit("memory.leaked_bytes") == 0
    assert found.limit("performance.step_ms") is None and found.asked == frozenset() and found.path == ""


def test_the_bundled_file_shows_every_criterion_and_parses_with_all_of_them() -> None:
    text = re.sub(r"^# (?=\w+ = |\[)", "", default_text(), flags=re.MULTILINE)
    found = parse_criteria(text, "all.toml")
    assert found.asked == {one.id for one in CRITERIA}
    assert found.thresholds == {"precision": {"cosine": 0.99}} and len(found.silences) == 1


def test_every_criterion_has_a_figure_and_an_area() -> None:
    assert {one.id for one in CRITERIA if one.sense != "choice"} == set(TAKES)
    built = {area.id for area in AREAS if area.is_built} - {"rounds", "checkup"}
    assert set(ORDER) == built | {"environment"} and {one.area for one in CRITERIA} == set(ORDER)


def test_what_a_file_does_not_say_is_as_in_the_bundled_one() -> None:
    found = parse_criteria("[overflow]\norigins = 2\n[performance]\nstep_ms = 12.5", "mine.toml")
    assert (found.limit("overflow.origins"), found.limit("precision.cosine")) == (2, 0.99)
    assert found.asked == {"overflow.origins", "performance.step_ms"} and found.path == "mine.toml"
    assert found.asks_for("overflow") and not found.asks_for("memory")


def test_thresholds_reach_the_areas_as_their_commands_take_them() -> None:
    text = """
        [precision.thresholds]
        cosine = 0.98
        norm_ratio_low = 0.5
        [performance]
        step_ms = 120
        [performance.thresholds]
        free_percent = 15
    """
    found = parse_criteria(text, "f")
    assert found.area_options("precision") == "cosine=0.98,norm_ratio_low=0.5"
    assert found.area_options("performance") == "free_percent=15.0,step_ms=120.0"
    assert found.area_options("memory") is None and found.area_options("environment") is None


def test_silences_are_kept_for_who_reads_them() -> None:
    text = '[[silence]]\nrule = "memory.unused"\nuntil = 2027-01-31\n[[silence]]\nrule = "x"'
    found = parse_criteria(text, "f")
    assert [one["rule"] for one in found.silences] == ["memory.unused", "x"]
    assert found.asked == frozenset()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[precison]\ncosine = 1", 1, "precison: no such section (did you mean 'precision'?)"),
        (
            "\n\n[precision]\n# a\ncosin = 0.9",
            5,
            "precision.cosin: no such criterion (did you mean 'cosine'?)",
        ),
        ("[zzz]", 1, "zzz: no such section (known: environment, device, precision"),
        ("[precision]\ncosine = nan", 2, "precision.cosine: nan would judge nothing"),
        ("[precision]\ncosine = inf", 2, "precision.cosine: inf would judge nothing"),
        ("[precision]\ncosine = 1.5", 2, "precision.cosine: 1.5 can never be reached"),
        ("[precision]\ncosine = '1'", 2, "precision.cosine: is a number, not '1'"),
        ("[precision]\ncosine = true", 2, "precision.cosine: is a number, not true"),
        ("[precision]\ncosine = [1]", 2, "precision.cosine: is a number, not list"),
        ("[overflow]\norigins = -1", 2, "overflow.origins: -1 is below 0"),
        ("[overflow]\norigins = 0.5", 2, "overflow.origins: is a whole number, not 0.5"),
        ("[memory]\nfaults = " + "9" * 400, 2, "memory.faults: is too large"),
        ("[memory]\nfaults = -" + "9" * 400, 2, "memory.faults: a number of many digits is below 0"),
        ("[memory]\ncomplete = 1", 2, "memory.complete: is true or false, not 1"),
        (
            "[performance.thresholds]\nfree_percen = 3",
            2,
            "free_percen: no such threshold (did you mean 'free_perc",
        ),
        (
            "[performance.thresholds]\nstep_ms = 3",
            2,
            "performance.thresholds.step_ms: is a criterion (write it be",
        ),
        ("[performance.thresholds]\nfree_percent = -3", 2, "free_percent: -3 is below 0"),
        ("[performance]\nthresholds = 3", 2, "performance.thresholds: is a section"),
        ("[environment.thresholds]\na = 3", 1, "environment.thresholds: this area has no thresholds"),
        ("precision = 3", 1, "precision: is a section (write [precision])"),
        ("silence = 3", 1, "silence: is a list of tables (write [[silence]])"),
        ("[silence]\nrule = 'x'", 1, "silence: is a list of tables (write [[silence]])"),
        ("[overflow]\norigins = 0\norigins = 1\n[memory]", 3, "overflow.origins: stands here a second time"),
        ("[overflow]\norigins = 0\n[overflow]\n", 3, "overflow: stands here a second time"),
        ("[overflow]\norigins = \n[memory]", 2, "this is no TOML: Invalid value"),
        ("[overflow]\norigins = 0\nfoo", 3, "this is no TOML"),
        ('note = """\n[precision]\ncosine = 3\n"""\n', 1, "note: no such section"),
        ('a.b = """x"""\n', 1, "a: no such section"),
        ("precision.cosine = 2", 1, "precision.cosine: 2 can never be reached"),
        ("[ precision ]\n'cosine' = -0.5", 2, "precision.cosine: -0.5 is below 0"),
        ("precision = {cosine = 7}", 1, "precision.cosine: 7 can never be reached"),
    ],
)
def test_a_mistake_is_told_with_key_and_line(text: str, line: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_criteria(text, "mine.toml")
    error = caught.value
    told = f"{error.message} ({error.hint})"
    assert (error.path, error.line) == ("mine.toml", line) and words in told, told


def test_a_file_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "criteria.toml"
    path.write_bytes(b"\xef\xbb\xbf[overflow]\r\norigins = 3\r\n")
    assert read_criteria(path).limit("overflow.origins") == 3
    path.write_bytes(b"[overflow]\n# \xff\n")
    with pytest.raises(InputError, match=r"criteria\.toml, line 2: a criteria file is UTF-8"):
        read_criteria(path)
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(InputError, match="more than"):
        read_criteria(path)
    with pytest.raises(InputError, match="does not exist"):
        read_criteria(tmp_path / "none.toml")
    with pytest.raises(InputError, match="regular file"):
        read_criteria(tmp_path)


WORDS = st.sampled_from(
    [
        *ORDER,
        *(one.key for one in CRITERIA),
        "thresholds",
        "silence",
        "nan",
        "-1",
        "0.5",
        "1",
        "true",
        '"x"',
        '"""',
    ]
    + [
        "[",
        "]",
        "[[",
        "]]",
        "=",
        "\n",
        ".",
        "{",
        "}",
        ",",
        "#",
        "'",
        "\\",
        "inf",
        "2027-01-01",
        "é",
        "\0",
        " ",
    ]
)


@given(st.one_of(st.lists(WORDS, max_size=30).map("".join), st.text(max_size=60)))
def test_any_text_is_a_file_or_an_error_that_names_it(text: str) -> None:
    try:
        found = parse_criteria(text, "f.toml")
    except InputError as error:
        assert error.path == "f.toml" and (error.line is None or 1 <= error.line <= text.count("\n") + 1)
        assert "\x1b" not in error.message
        return
    assert isinstance(found, CriteriaFile) and all(found.values[one] is not None for one in found.asked)


SECTION = st.fixed_dictionaries(
    {},
    optional={
        one.key: st.booleans()
        if one.is_flag
        else st.integers(0, 1)
        if one.is_count or one.most
        else st.floats(0, 1e9)
        for one in CRITERIA
        if one.area == "performance" or one.area == "memory"
    },
)


@given(SECTION)
def test_what_is_written_is_what_is_read(values: dict[str, float | bool]) -> None:
    lines = []
    for area in ("memory", "performance"):
        lines.append(f"[{area}]")
        for one in CRITERIA:
            if one.area == area and one.key in values:
                value = values[one.key]
                lines.append(f"{one.key} = {str(value).lower() if isinstance(value, bool) else repr(value)}")
    found = parse_criteria("\n".join(lines), "f")
    assert {one.partition(".")[2]: found.values[one] for one in found.asked} == values
