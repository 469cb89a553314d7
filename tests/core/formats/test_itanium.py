# ruff: noqa: E501 - names as compilers write them
"""Mangled C++ names: against what the ABI's own tools print, and against anything at all."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.formats.itanium import MAX_CHARS, MAX_SHOWN, demangle, name_of, namespace_of

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

# Each as `c++filt` of binutils shows it (std::string: as with its option for short names).
KNOWN = {
    "_Z3foov": "foo()",
    "_ZN3atb9OperationE": "atb::Operation",
    "_ZN3atb15CreateOperationINS_5infer14GroupTopkParamEEEiRKT_PPNS_9OperationE": "int atb::CreateOperation<atb::infer::GroupTopkParam>(atb::infer::GroupTopkParam const&, atb::Operation**)",
    "_ZN3Mki2DlC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb": f"Mki::Dl::Dl({STRING} const&, bool)",
    "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs": "c10::detail::torchCheckFail(char const*, char const*, unsigned int, std::string const&)",
    "_ZN5torch3jit17parseSchemaOrNameERKSsb": "torch::jit::parseSchemaOrName(std::string const&, bool)",
    "_ZNK2at6Tensor8data_ptrIfEEPT_v": "float* at::Tensor::data_ptr<float>() const",
    "_ZN3c105ErrorD0Ev": "c10::Error::~Error()",
    "_ZTVN3c105ErrorE": "vtable for c10::Error",
    "_ZTIN3c105ErrorE": "typeinfo for c10::Error",
    "_ZNKSt6vectorIiSaIiEE4sizeEv": "std::vector<int, std::allocator<int> >::size() const",
    "_ZN12_GLOBAL__N_13Hid1fESt3mapIiiSt4lessIiESaISt4pairIKiiEEE": "(anonymous namespace)::Hid::f(std::map<int, int, std::less<int>, std::allocator<std::pair<int const, int> > >)",
    "_ZN2at2cbEPFiPKcRNS_6TensorEEMS2_iMS2_FviE": "at::cb(int (*)(char const*, at::Tensor&), int at::Tensor::*, void (at::Tensor::*)(int))",
    "_Z2rrOiPVKiDnSt4pairIiSt5tupleIJicEEE": "rr(int&&, int const volatile*, decltype(nullptr), std::pair<int, std::tuple<int, char> >)",
    "_ZN1VIL1E1ELb1ELm7ELln3EE2goEv": "V<(E)1, true, 7ul, -3l>::go()",
    "_ZN3c10lsERSoRKNS_6DeviceE": "c10::operator<<(std::ostream&, c10::Device const&)",
    "_ZNKR3c108optionalIiE5valueEv": "c10::optional<int>::value() const &",
    "_ZN3c106detail3getIfLi3EEET_NS_8ArrayRefIS2_EERAT0__S2_": None,
}


@pytest.mark.parametrize("symbol", KNOWN)
def test_known_names(symbol: str) -> None:
    assert demangle(symbol) == KNOWN[symbol]


def test_packs_of_parameters() -> None:
    symbol = "_ZN3c103strIJiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEA5_cEEES6_DpRKT_"
    shown = f"{STRING} c10::str<int, {STRING}, char [5]>(int const&, {STRING} const&, char const (&) [5])"
    assert demangle(symbol) == shown


def test_versions_and_parts_are_left_out() -> None:
    assert demangle("_ZNSt9exceptionD2Ev@GLIBCXX_3.4") == "std::exception::~exception()"
    assert demangle("_ZN3c105ErrorD0Ev.part.0") == "c10::Error::~Error()"


@pytest.mark.parametrize(
    "text", ["", "_Z", "aclrtMalloc", "_ZN", "_ZN3at", "_Z99999999foo", "_ZN2atE3", "_ZNKSt", "_Z1fS_"]
)
def test_what_is_no_name_is_not_guessed(text: str) -> None:
    assert demangle(text) is None and name_of(text) is None


def test_names_and_namespaces() -> None:
    symbol = "_ZN3atb15CreateOperationINS_5infer14GroupTopkParamEEEiRKT_PPNS_9OperationE"
    assert name_of(symbol) == "atb::CreateOperation<atb::infer::GroupTopkParam>"
    assert namespace_of(symbol) == "atb"
    assert namespace_of("_ZTVN3c105ErrorE") == "c10"
    assert namespace_of("_ZNKSt6vectorIiSaIiEE4sizeEv") == "std"
    assert namespace_of("_Z3foov") == ""
    assert namespace_of(symbol[:40]) == "atb", "a name that was cut still tells whose it is"


@given(st.text(alphabet="_ZN0123456789StIEKRPOLsabcdvDpJTFMA", max_size=60))
def test_anything_is_a_name_or_none(rest: str) -> None:
    found = demangle("_Z" + rest)
    assert found is None or 0 < len(found) <= MAX_SHOWN
    namespace_of("_Z" + rest)


@pytest.mark.parametrize(
    "symbol",
    [
        "_Z1f" + "P" * (MAX_CHARS - 5) + "i",
        "_Z1f" + "I" * 3000,
        "_ZN1aE" + "N" * 3000,
        "_Z1fSt4pairIiiE" + "".join(f"St4pairIS{n}_S{n}_E" for n in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        "_Z1fI" + "J" * 1000 + "iE" * 1000,
    ],
)
def test_hostile_names_take_no_time(symbol: str) -> None:
    begin = time.process_time()
    found = demangle(symbol)
    assert time.process_time() - begin < 1
    assert found is None or len(found) <= MAX_SHOWN


def test_against_the_tool_of_the_compiler() -> None:
    """Names of this machine's own C++ library, against c++filt: alike but for how std::string is shortened."""
    filt, nm = shutil.which("c++filt"), shutil.which("nm")
    libraries = [path for path in Path("/usr/lib").glob("*-linux-gnu/libstdc++.so.6")]
    if filt is None or nm is None or not libraries:
        pytest.skip("no c++filt, nm or libstdc++ here")
    listed = subprocess.run([nm, "-D", str(libraries[0])], capture_output=True, text=True, check=True).stdout
    words = {line.split()[-1].split("@")[0] for line in listed.splitlines() if line.split()}
    symbols = sorted(word for word in words if word.startswith("_Z"))
    right = subprocess.run(
        [filt], input="\n".join(symbols), capture_output=True, text=True, check=True
    ).stdout
    pairs = [(demangle(symbol), shown) for symbol, shown in zip(symbols, right.splitlines(), strict=True)]
    told = [(plain(found), plain(shown)) for found, shown in pairs if found is not None]
    assert len(symbols) > 1000 and len(told) > 0.95 * len(symbols)
    assert [pair for pair in told if pair[0] != pair[1]] == []


def plain(text: str) -> str:
    while "> >" in text:
        text = text.replace("> >", ">>")
    text = text.replace(
        "std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"
    )
    for name in ("istream", "ostream", "iostream"):
        text = text.replace(f"std::basic_{name}<char, std::char_traits<char>>", f"std::{name}")
    return text.replace("~basic_", "~").replace("::basic_", "::")
