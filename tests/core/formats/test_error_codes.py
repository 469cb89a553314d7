from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.error_codes import (
    ERROR_BITS,
    ERROR_CODES,
    FAMILIES,
    codes_in,
    family_of,
    look_up,
    pick,
)
from npulse.core.formats.plog.messages import bits_of


def test_the_codes_that_matter_are_known() -> None:
    runtime = [507011, *range(507014, 507019), *range(507034, 507037), *range(507042, 507047)]
    runtime += [*range(507048, 507051), *range(507053, 507058), 507899, 507900, 507901]
    wanted = [*map(str, runtime), *("0x25", "0x26", "0x27", "0x30", "0x31", "0x32", "0x91")]
    wanted += [*("EZ9999", "EE8888", "EI0002", "EE1001", "E10001", "E10058", "E19999", "EL0004")]
    wanted += [f"EP000{n}" for n in range(1, 9)]
    assert [code for code in wanted if code not in ERROR_CODES] == []


def test_every_fact_is_told_in_both_languages() -> None:
    for code, fact in ERROR_CODES.items():
        assert fact.code == code
        assert all(fact.meaning) and all(fact.next_step), code
        assert bool(fact.cause[0]) == bool(fact.cause[1]), code
        assert bool(fact.name) == fact.is_real, code
        for english, chinese in (fact.meaning, fact.cause, fact.next_step):
            assert english.isascii(), code
            assert not chinese or re.search("[\u4e00-\u9fff]", chinese), code
    for english, chinese in FAMILIES.values():
        assert english and chinese


def test_codes_of_guides_that_no_tool_prints() -> None:
    for code in ("E1001", "E2003", "E3005"):
        fact = look_up(code)
        assert fact is not None and not fact.is_real
        assert set(fact.see) >= {"EP0001", "EP0008", "E10001", "E10058", "E19999", "EE1001"}
        assert all(ERROR_CODES[real].is_real for real in fact.see)


def test_looking_up() -> None:
    fact = look_up(" 507035 ")
    assert fact is not None and fact.name == "vector core exception"
    assert pick(fact.meaning, "en").startswith("a kernel on a vector core")
    assert pick(fact.meaning, "zh").startswith("vector 核")
    assert look_up("507999") is None
    assert family_of("EI0099") == FAMILIES["EI"]
    assert family_of("E70001") == FAMILIES["E7"]
    assert family_of("E1001") is None and family_of("507035") is None and family_of("EX0001") is None


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (
            "rtStreamSynchronize:ErrCode=507035, desc=[vector core exception], InnerCode=0x715005e",
            ("507035",),
        ),
        ("synchronize stream failed, runtime result = 507035.", ("507035",)),
        ("NPU function error: aclrtMemcpy, error code is 207001[Error]", ("207001",)),
        ("EZ9999: Inner Error! EZ9999[PID: 1] (EZ9999):  x", ("EZ9999",)),
        ("Memory_Allocation_Failure(EL0004): Failed", ("EL0004",)),
        ("Kernel task happen error, retCode=0x31, [vector core exception].", ("0x31",)),
        ("ERR00100 PTA call acl api failed", ("ERR00100",)),
        ("EI0099: a new one, and E70001: another", ("EI0099", "E70001")),
        ("the seed's E2003", ("E2003",)),
        ("step 200000 of 507000123, 3.507035, AE10001, E100011, EX0001", ()),
        ("loss 107002 at step 100000", ()),
        ("", ()),
    ],
)
def test_codes_in_a_text(text: str, codes: tuple[str, ...]) -> None:
    assert codes_in(text) == codes


@given(st.text(max_size=300))
def test_any_text_is_survived(text: str) -> None:
    for code in codes_in(text):
        assert code in ERROR_CODES or family_of(code) is not None


def test_bits_have_the_vendors_names() -> None:
    assert len(ERROR_BITS) == 176
    names = {bit.number: bit.name for bit in ERROR_BITS}
    assert [names[n] for n in (0, 4, 23, 33, 62, 63)] == [
        *("BIU_L2_READ_OOB", "CCU_ILLEGAL_INSTR", "MTE_BIU_RDWR_RESP", "MTE_GDMA_WRITE_OVERFLOW"),
        *("VEC_UB_WRAP_AROUND", "BIU_DFX_ERR"),
    ]
    assert [names[n] for n in (64, 75, 100, 126, 127)] == [
        *("CCU_SBUF_ECC", "VEC_INSTR_ADDR_MISALIGN", "FIXP_ERR_INSTR_ADDR_MISAL"),
        *("CUBE_ILLEGAL_INSTR", "CCU_SAFETY_CRC_ERR"),
    ]
    assert [names[n] for n in (128, 144, 145, 175)] == [
        *("MTE_TIMEOUT", "MTE_ERR_L0C_RDWR_CFLT", "VEC_DATA_EXCPT_MTE", "VEC_ERR_PARITY_ERR"),
    ]
    assert len(set(names.values())) == 176


def test_bits_of_hardware_and_meanings() -> None:
    hardware = {bit.number for bit in ERROR_BITS if bit.is_hardware}
    assert hardware >= {8, 10, 13, 16, 40, 43, 45, 55, 60, 94, 95, 96, 113, 123}
    assert 33 not in hardware
    assert ERROR_BITS[33].meaning[0] == "a move writes outside an on-chip buffer"
    assert all(all(bit.meaning) or not any(bit.meaning) for bit in ERROR_BITS)
    assert [ERROR_BITS[n].name for n in bits_of((0x800000, 0, 0))] == ["MTE_BIU_RDWR_RESP"]


@pytest.mark.parametrize("code", ["507014", "507015", "507016", "507042", "507043"])
def test_a_code_of_any_ai_core_names_no_cube_core(code: str) -> None:
    """Some chips have no cube cores apart from their vector cores."""
    found = ERROR_CODES[code]
    assert "AI Core" in found.meaning[0] and "AI Core" in found.meaning[1]
    assert not re.search("cube", " ".join(found.meaning))
