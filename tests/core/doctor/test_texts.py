# ruff: noqa: E501 - lines as people paste them
"""Environments that were pasted: what each tells, what conflicts in it, where that stands, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npulse.core.doctor.facts import Environment
from npulse.core.doctor.findings import all_findings
from npulse.core.doctor.reading import Gathered, read_environments
from npulse.core.doctor.report import report
from npulse.core.doctor.versions import versions_of
from npulse.core.errors import InputError
from npulse.core.findings import Finding

from .texts import FACTORY, NEW_LAYOUT, PIP_LIST, collector


def environment(text: str) -> Environment:
    gathered = Gathered()
    gathered.add_lines([(number, line) for number, line in enumerate(text.splitlines(), 1)], "issue.md")
    return gathered.environment("issue.md")


def read(folder: Path, text: str) -> Environment:
    (folder / "issue.md").write_text(text, encoding="utf-8")
    return read_environments([folder / "issue.md"], root=folder)


def grave(found: Environment) -> list[tuple[str, str]]:
    """Rule and severity of all findings but notes."""
    return [(one.rule, one.severity) for one in all_findings(found) if one.severity != "note"]


def first(found: Environment) -> Finding:
    return all_findings(found)[0]


def line_of(text: str, word: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if word in line)


# ---- healthy ----


def test_a_healthy_collector_text_has_no_conflict(tmp_path: Path) -> None:
    found = read(tmp_path, collector())
    assert grave(found) == []
    told = versions_of(found)
    assert told == {
        **{"cann": "8.1.RC1", "cann_inner": "V100R001C21SPC001B238", "driver": "25.0.rc1.1"},
        **{"cann_home": "/usr/local/Ascend/ascend-toolkit/8.1.RC1", "python": "3.10.17", "arch": "aarch64"},
        **{"torch": "2.5.1", "torch_npu": "2.5.1", "torchvision": "0.20.1", "numpy": "1.26.4"},
        **{"vllm": "0.8.4", "vllm_ascend": "0.8.4rc1", "glibc": "2.35", "npu_smi": "25.0.rc1.1"},
        **{"os": "Ubuntu 22.04.5 LTS (aarch64)", "gcc": "(Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0"},
    }
    made = report(found)
    assert made.verdict == "pass" and made.exit_code() == 0
    assert "no conflict" in made.told[0]


@pytest.mark.parametrize(
    "change",
    [
        {"torch": "2.5.1+cpu"},
        {"torch_npu": "2.5.1.post1.dev20250619"},
        {"driver": "24.1.rc3"},
        {"driver": "25.5.0"},
        {"cann": "8.2.RC1", "inner": "V100R001C22SPC001B231", "torch": "2.6.0", "torch_npu": "2.6.0"},
        {"libraries": "/usr/local/Ascend/ascend-toolkit/8.1.RC1/lib64"},
        {"home": "/usr/local/Ascend/ascend-toolkit/8.1.RC1"},
        {
            "after": "source /usr/local/Ascend/ascend-toolkit/set_env.sh\nsource /usr/local/Ascend/nnal/atb/set_env.sh"
        },
        {"after": "It worked with CANN 8.0.0 and driver 23.0.3, torch 2.1 was fine too."},
        {"after": "please make sure to source /usr/local/Ascend/ascend-toolkit/set_env.sh"},
        {"after": "INFO 06-16 [importing.py:14] Triton not installed: No module named 'triton'"},
        {"after": "LD_LIBRARY_PATH=/opt/conda/envs/cann/lib:$LD_LIBRARY_PATH"},
        {"after": "pip install torch_npu-2.5.1-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl"},
    ],
)
def test_what_is_usual_is_no_conflict(tmp_path: Path, change: dict[str, str]) -> None:
    assert grave(read(tmp_path, collector(**change))) == []


@pytest.mark.parametrize("text", [FACTORY, PIP_LIST])
def test_parts_of_an_environment_that_fit(text: str) -> None:
    found = environment(text)
    assert grave(found) == [] and report(found).verdict == "pass"


def test_facts_of_other_collectors() -> None:
    told = versions_of(environment(FACTORY))
    assert (told["torch"], told["cann"], told["python"], told["arch"]) == (
        "2.4.0",
        "8.0.0",
        "3.10.16",
        "aarch64",
    )
    told = versions_of(environment(PIP_LIST))
    assert (told["torch_npu"], told["python"], told["arch"]) == ("2.1.0.post10", "3.8.18", "aarch64")
    assert told["mindspeed"] == "0.8.0"


def test_a_text_that_tells_nothing_is_no_pass() -> None:
    made = report(environment("It does not work.\nPlease help.\n"))
    assert (made.verdict, made.exit_code(), made.findings) == ("unknown", 4, ())
    assert made.told[0].startswith("nothing that could be judged")


# ---- torch ----


def test_torch_and_torch_npu_of_two_versions(tmp_path: Path) -> None:
    text = collector(torch="2.6.0")
    finding = first(read(tmp_path, text))
    assert (finding.rule, finding.severity, finding.role) == ("env.torch", "error", "origin")
    assert finding.figures == {"torch": "2.6.0", "torch_npu": "2.5.1", "wanted_torch": "2.5.1"}
    assert finding.location.artifact == "issue.md"
    assert finding.location.line == line_of(text, "PyTorch version: 2.6.0")
    assert finding.next_step == "pip install torch==2.5.1"


def test_the_package_that_does_not_go_with_cann_is_the_one_to_change() -> None:
    found = environment(collector(torch="2.4.0", torch_npu="2.7.1"))
    finding = first(found)
    assert finding.rule == "env.torch"
    assert finding.next_step.startswith("pip install torch_npu==2.4.0.post4")


def test_the_newer_layout_of_the_collector() -> None:
    found = environment(NEW_LAYOUT)
    assert grave(found) == [("env.torch", "error")]
    assert found.value("glibc") == "2.28" and found.value("arch") == "aarch64"


def test_a_missing_symbol_follows_from_versions_that_differ() -> None:
    error = (
        "ImportError: /opt/p/lib/python3.10/site-packages/torch_npu/lib/libtorch_npu.so: "
        "undefined symbol: _ZN3c1013MessageLoggerC1EPKcii"
    )
    text = collector(torch="2.6.0", after=error)
    findings = [one for one in all_findings(environment(text)) if one.severity == "error"]
    assert [(one.rule, one.role) for one in findings] == [
        ("env.torch", "origin"),
        ("env.symbol", "inherited"),
    ]
    assert findings[1].figures["demangled"] == "c10::MessageLogger::MessageLogger(char const*, int, int)"
    assert findings[1].location.line == line_of(text, "undefined symbol")


def test_versions_agree_so_it_is_the_abi() -> None:
    error = "ImportError: /w/torch_npu/lib/libtorch_npu.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    finding = first(environment(collector(after=error)))
    assert (finding.rule, finding.figures["abi"]) == ("env.abi", "old")


def test_without_versions_it_is_the_abi_or_the_version() -> None:
    error = "ImportError: /w/vllm_ascend_C.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSsb"
    (finding,) = all_findings(environment(error))
    assert (finding.rule, finding.figures["abi"], finding.figures["package"]) == (
        "env.symbol",
        "old",
        "torch",
    )
    assert "ABI" in finding.message and "another version" in finding.message


def test_what_python_imports_is_not_what_pip_lists() -> None:
    found = environment("PyTorch version: 2.5.1\n[pip3] torch==2.6.0\n[pip3] torch-npu==2.5.1\n")
    assert found.version("torch") == "2.5.1"
    assert grave(found) == [("env.requirement", "warning")]


def test_what_pip_says_of_torch() -> None:
    text = "ERROR: pip's dependency resolver does not currently take into account all the packages.\n"
    text += "torch-npu 2.5.1 requires torch==2.5.1, but you have torch 2.7.0 which is incompatible.\n"
    finding = first(environment(text))
    assert (finding.rule, finding.severity, finding.location.line) == ("env.torch", "error", 2)
    assert finding.figures == {"needs": "torch==2.5.1", "found": "2.7.0"}


def test_the_build_for_cpu_is_another_version_to_pip() -> None:
    text = "The conflict is caused by:\n    The user requested torch==2.9.0\n    torch-npu 2.9.0 depends on torch==2.9.0+cpu\n"
    finding = first(environment(text))
    assert finding.rule == "env.requirement" and "--extra-index-url" in finding.next_step


def test_torch_npu_of_another_cann_is_doubtful() -> None:
    found = environment(collector(torch="2.6.0", torch_npu="2.6.0"))
    assert grave(found) == [("env.torch-npu", "warning")]
    assert first(found).figures["made_for_cann"] == "8.2.RC1"
    assert report(found).verdict == "warn"


# ---- driver ----


def test_a_driver_older_than_any_that_is_listed() -> None:
    text = collector(driver="23.0.3", cann="8.2.RC1", inner="V100R001C22SPC001B231", torch_npu="2.5.1.post1")
    found = environment(text)
    finding = first(found)
    assert grave(found) == [("env.driver", "error")]
    assert finding.figures == {"driver": "23.0.3", "cann": "8.2.RC1", "oldest_driver": "24.1.rc2"}
    assert finding.location.line == line_of(text, "| npu-smi")


DRIVER = """$ cat /usr/local/Ascend/driver/version.info
Version=24.1.rc1
ascendhal_version=7.35.19
Innerversion=V100R001C17SPC001B230
compatible_version=[V100R001C30],[V100R001C13],[V100R001C15],[V100R001C17]
compatible_version_fw=[7.0.0,7.2.99]
package_version=24.1.rc1
"""


def test_the_drivers_own_list_decides() -> None:
    found = environment(collector(driver="24.1.rc1", after=DRIVER))
    assert grave(found) == [("env.driver", "error")]
    assert first(found).figures["inner"] == "V100R001C21"
    assert first(found).location.line == line_of(collector(after=DRIVER), "Version=24.1.rc1")


def test_without_an_innerversion_nothing_is_certain() -> None:
    text = collector(driver="25.5.1", cann="9.0.0", inner="", torch="2.9.0", torch_npu="2.9.0.post2")
    found = environment(text)
    assert grave(found) == []
    (note,) = [one for one in all_findings(found) if one.role == "unknown"]
    assert note.rule == "env.not-judged" and "26.0.rc1" in note.message
    assert report(found).verdict == "unknown" and report(found).exit_code() == 4


def test_a_release_without_a_version_file_is_doubtful_at_most() -> None:
    text = DRIVER + "$ cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg\n# version: 1.0\n"
    text += "toolkit_running_version=[7.7.0.2.220:8.2.RC2]\n"
    assert grave(environment(text)) == [("env.driver", "warning")]


# ---- two toolkits ----

TWO = "/usr/local/Ascend/ascend-toolkit/8.0.RC3/lib64:/usr/local/Ascend/ascend-toolkit/latest/lib64"


def test_two_toolkits_in_ld_library_path() -> None:
    text = collector(libraries=TWO)
    finding = first(environment(text))
    assert (finding.rule, finding.severity) == ("env.mixed", "error")
    assert finding.figures["releases"] == ["8.0.RC3", "8.1.RC1"] and finding.figures["first"] == "8.0.RC3"
    assert finding.location.line == line_of(text, "LD_LIBRARY_PATH=")
    assert "set_env.sh" in finding.next_step


def test_two_toolkits_whose_releases_are_not_told() -> None:
    found = environment(f"LD_LIBRARY_PATH={TWO}\n")
    assert grave(found) == [("env.mixed", "warning")]


@pytest.mark.parametrize(
    ("lines", "releases"),
    [
        (
            "export ASCEND_HOME_PATH=/opt/cann-8.5.0\nexport PYTHONPATH=/opt/cann-9.0.0/python:$PYTHONPATH",
            {"8.5.0", "9.0.0"},
        ),
        (
            "ASCEND_HOME_PATH=/usr/local/CANN8.3.RC1/ascend-toolkit/latest\nLD_LIBRARY_PATH=/opt/cann-8.5.0/lib64",
            {"8.3.RC1", "8.5.0"},
        ),
        (
            "source /u/Ascend/ascend-toolkit/8.0.0/set_env.sh\nsource /opt/cann-8.5.0/set_env.sh",
            {"8.0.0", "8.5.0"},
        ),
    ],
)
def test_two_toolkits_in_whatever_says_it(lines: str, releases: set[str]) -> None:
    finding = first(environment(lines))
    assert (finding.rule, finding.severity) == ("env.mixed", "error")
    assert set(finding.figures["releases"]) == releases


def test_a_variable_that_names_itself_again_and_again_stays_small() -> None:
    found = environment("A1=/x\n" + f"A1={'$A1:' * 10_000}\n" * 30)
    assert len(found.variables["A1"].value) <= 100_000


HEALTHY = (
    {
        "cann": "8.5.0",
        "inner": "V100R001C25SPC001B200",
        "torch": "2.9.0+cpu",
        "torch_npu": "2.9.0",
        "driver": "25.5.0",
    },
    {"cann": "8.5.1", "inner": "", "torch": "2.9.0", "torch_npu": "2.9.0", "driver": "25.3.rc1"},
    {"cann": "9.0.0", "inner": "", "torch": "2.10.0", "torch_npu": "2.10.0", "driver": "26.0.rc1"},
)


@pytest.mark.parametrize("change", HEALTHY)
@pytest.mark.parametrize("home", ["/usr/local/Ascend/cann-{cann}", "/usr/local/Ascend/cann"])
def test_the_layout_from_85_on_when_it_is_healthy(change: dict[str, str], home: str) -> None:
    folder = home.format(cann=change["cann"])
    libraries = f"{folder}/lib64:/usr/local/Ascend/ascend-toolkit/latest/lib64"
    found = environment(collector(**change, home=folder, libraries=libraries))
    assert grave(found) == [] and report(found).verdict == "pass"


def test_another_part_of_cann_of_another_release() -> None:
    found = environment(
        "LD_LIBRARY_PATH=/usr/local/Ascend/nnae/8.0.0/lib64:/usr/local/Ascend/ascend-toolkit/8.1.RC1/lib64\n"
    )
    assert grave(found) == [("env.mixed", "error")]


def test_parts_that_link_to_another_release() -> None:
    text = "toolkit_running_version=[7.6.T13.0.B094:8.0.T63]\n\nlrwxrwxrwx 1 root root 18 Sep 21 16:55 acllib -> ../8.2.RC2/runtime\n"
    finding = first(environment(text))
    assert (finding.rule, finding.severity, finding.location.line) == ("env.mixed", "warning", 3)
    assert grave(environment(text.replace("8.0.T63", "8.2.RC2"))) == []


def test_the_version_file_is_of_another_toolkit_than_the_variables() -> None:
    old = "/usr/local/Ascend/ascend-toolkit/8.0.RC3"
    found = environment(collector(home=old, libraries=f"{old}/lib64"))
    assert ("env.mixed", "warning") in grave(found)
    assert found.toolkit is not None and found.toolkit.release == "8.0.RC3"


# ---- loader ----


def test_libatb_is_missing() -> None:
    error = "ERROR 06-16 02:47:10 [executor.py:870] OSError: libatb.so: cannot open shared object file: No such file or directory"
    text = collector(after="\n".join([error] * 3))
    found = environment(text)
    finding = first(found)
    assert grave(found) == [("env.library", "error")]
    assert finding.figures == {"library": "libatb.so", "package": "nnal", "n_times": 3}
    assert finding.next_step.startswith("source /usr/local/Ascend/nnal/atb/set_env.sh")
    assert finding.location.line == line_of(text, "libatb.so")


@pytest.mark.parametrize(
    ("library", "package", "repair"),
    [
        ("libhccl.so", "toolkit", "source /usr/local/Ascend/ascend-toolkit/set_env.sh"),
        ("libascend_hal.so", "driver", "/usr/local/Ascend/driver/lib64"),
        ("libascendcl.so", "toolkit", "set_env.sh"),
        ("libatb_speed_torch.so", "mindie", "mindie/set_env.sh"),
        ("libc10.so", "torch", "pip"),
        ("libpython3.10.so.1.0", "python", "LIBDIR"),
        ("libascend_dump.so", "toolkit", "set_env.sh"),
        ("libnobody_knows.so.3", "", "LD_LIBRARY_PATH"),
    ],
)
def test_whose_a_missing_library_is(library: str, package: str, repair: str) -> None:
    found = environment(f"ImportError: {library}: cannot open shared object file: No such file or directory")
    (finding,) = all_findings(found)
    assert (finding.subject, finding.figures["package"]) == (library, package)
    assert repair in finding.next_step


def test_a_symbol_of_another_nnal() -> None:
    symbol = "_ZN3Mki2DlC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEb"
    error = (
        f"OSError: /u/Ascend/nnal/atb/latest/atb/cxx_abi_1/lib/libtbe_adapter.so: undefined symbol: {symbol}"
    )
    (finding,) = all_findings(environment(error))
    assert (finding.rule, finding.figures["package"], finding.figures["abi"]) == ("env.abi", "nnal", "cxx11")
    assert "Mki::Dl::Dl" in finding.subject


def test_torch_and_nnal_of_two_abis() -> None:
    text = "ATB_HOME_PATH=/usr/local/Ascend/nnal/atb/latest/atb/cxx_abi_0\n>>> torch._C._GLIBCXX_USE_CXX11_ABI\nTrue\n"
    text += "_GLIBCXX_USE_CXX11_ABI: True\n"
    (finding,) = all_findings(environment(text))
    assert (finding.rule, finding.location.line) == ("env.abi", 1)
    assert finding.next_step.endswith("--cxx_abi=1")


@pytest.mark.parametrize(
    ("line", "rule", "word"),
    [
        (
            "/lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /x/libtorch_npu.so)",
            "env.glibc",
            "CONDA_PREFIX",
        ),
        (
            "ImportError: /c/envs/p/lib/libstdc++.so.6: version `CXXABI_1.3.13' not found (required by /x/a.so)",
            "env.glibc",
            "conda install",
        ),
        (
            "/lib64/libc.so.6: version `GLIBC_2.34' not found (required by /x/libascendcl.so)",
            "env.glibc",
            "ldd --version",
        ),
        (
            "ImportError: /e/lib/libgomp.so.1: cannot allocate memory in static TLS block",
            "env.static-tls",
            "LD_PRELOAD=/e/lib/libgomp.so.1",
        ),
        ("AttributeError: _ARRAY_API not found", "env.numpy", "numpy<2"),
        ("AttributeError: module 'torch' has no attribute 'npu'", "env.import", "import torch, torch_npu"),
        ("ModuleNotFoundError: No module named 'tbe'", "env.import", "set_env.sh"),
        ("ModuleNotFoundError: No module named 'torch_npu._C'", "env.import", "cd /"),
        ("ModuleNotFoundError: No module named 'decorator'", "env.import", "pip install decorator"),
        (
            "RuntimeError: Failed to load the backend extension: torch_npu. You can disable it",
            "env.import",
            "AUTOLOAD=0",
        ),
        (
            "RuntimeError: aclnnFoo or aclnnFooGetWorkspaceSize not in libopapi.so, or libopapi.sonot found.",
            "env.operator",
            "CANN",
        ),
        ("RuntimeError: torch_npu 2.5.1 requires torch==2.5.1", "env.torch", "torch==2.5.1"),
        ("/x/liba.so: wrong ELF class: ELFCLASS32", "env.arch", "uname -m"),
        ("The driver version is too low, please upgrade the driver.", "env.driver-state", "newer driver"),
        ("dcmi module initialize failed. ret is -8005", "env.driver-state", "--device"),
    ],
)
def test_other_errors(line: str, rule: str, word: str) -> None:
    (finding,) = all_findings(environment(f"before\n{line}\nafter"))
    assert (finding.rule, finding.severity, finding.location.line) == (rule, "error", 2)
    assert word in finding.next_step


def test_codes_of_the_runtime_are_notes() -> None:
    found = environment("EE9999: Inner Error!\nE1001 is no code of CANN\n")
    assert [(one.rule, one.severity, one.subject) for one in all_findings(found)] == [
        ("env.code", "note", "EE9999")
    ]


def test_a_wheel_of_another_processor() -> None:
    text = "Linux n 5.10.0 #1 SMP aarch64 GNU/Linux\n"
    text += "ERROR: torch_npu-2.5.1-cp310-cp310-manylinux2014_x86_64.whl is not a supported wheel on this platform.\n"
    (finding,) = all_findings(environment(text))
    assert (finding.rule, finding.location.line) == ("env.arch", 2)


def test_a_wheel_of_another_python() -> None:
    text = "Python 3.12.3\nERROR: torch_npu-2.5.1-cp310-cp310-manylinux2014_aarch64.whl is not a supported wheel on this platform.\n"
    (finding,) = all_findings(environment(text))
    assert (finding.rule, finding.severity) == ("env.python", "error")


# ---- how it was pasted ----


@pytest.mark.parametrize("front", ["> ", ">> ", "\x1b[31m", "[rank0]: ", "\u00a0"])
def test_marks_in_front_of_lines_change_nothing(tmp_path: Path, front: str) -> None:
    text = collector(torch="2.6.0", libraries=TWO)
    plain = read(tmp_path, text)
    marked = read(tmp_path, "".join(f"{front}{line}\n" for line in text.splitlines()))
    assert versions_of(marked) == versions_of(plain)
    assert all_findings(marked) == all_findings(plain)


def test_windows_line_ends_and_gbk(tmp_path: Path) -> None:
    text = "环境信息：\r\n" + collector(torch="2.6.0").replace("\n", "\r\n")
    (tmp_path / "issue.md").write_bytes(text.encode("gbk"))
    found = read_environments([tmp_path / "issue.md"], root=tmp_path)
    assert grave(found) == [("env.torch", "error")]


@given(st.permutations(range(4)))
def test_the_order_of_parts_does_not_matter(order: list[int]) -> None:
    parts = (
        *("PyTorch version: 2.6.0\n\n", "[pip3] torch-npu==2.5.1\n\n", f"LD_LIBRARY_PATH={TWO}\n\n"),
        "package_name=Ascend-cann-toolkit\nversion=8.1.RC1\ninnerversion=V100R001C21SPC001B238\n\n",
    )
    found = environment("".join(parts[i] for i in order))
    assert [one.rule for one in all_findings(found)] == ["env.mixed", "env.torch"]


LINES = collector(torch="2.6.0", libraries=TWO).splitlines() + DRIVER.splitlines() + NEW_LAYOUT.splitlines()


@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=80)), max_size=60))
def test_any_lines_in_any_order_are_told_of_without_a_crash(lines: list[str]) -> None:
    found = environment("\n".join(lines))
    made = report(found, "zh", tables=True)
    n_lines = len("\n".join(lines).splitlines())
    assert all(one.location.line is None or 1 <= one.location.line <= n_lines for one in made.findings)
    assert made.verdict in ("pass", "warn", "fail", "unknown")


@given(st.binary(max_size=300))
def test_any_bytes(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.txt"
        path.write_bytes(content)
        try:
            report(read_environments([path]))
        except InputError as error:
            assert "no text" in error.message


def test_folders_and_files_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no version file"):
        read_environments([tmp_path])
    with pytest.raises(InputError, match="does not exist"):
        read_environments([tmp_path / "none"])


def test_a_folder_of_version_files(tmp_path: Path) -> None:
    (tmp_path / "version.info").write_text(DRIVER.split("\n", 1)[1])
    found = read_environments([tmp_path])
    assert found.driver is not None and found.driver.release == "24.1.rc1"


def test_both_languages_have_all_texts() -> None:
    from npulse.core.doctor.rules import RULES
    from npulse.core.doctor.texts import TEXTS

    assert all(all(pair) for pair in TEXTS.values())
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert all((*rule.title, *rule.meaning, *rule.threshold, *rule.source, *rule.silence))


# ---- what maintainers named ----


@pytest.mark.parametrize(
    ("text", "rule", "severity", "step"),
    [
        (
            'OCI runtime exec failed: exec failed: unable to start container process: exec: "npu-smi": executable file not found in $PATH: unknown',
            "env.driver-state",
            "warning",
            "--device=/dev/davinci0",
        ),
        ("bash: npu-smi: 未找到命令", "env.driver-state", "warning", "--device=/dev/davinci0"),
        ("sudo: npu-smi: command not found", "env.driver-state", "warning", "--device=/dev/davinci0"),
        (
            "dcmi module initialize failed. ret is -8020",
            "env.driver-state",
            "error",
            "--device=/dev/davinci0",
        ),
        (
            "AttributeError: '_OpNamespace' '_C_ascend' object has no attribute 'weak_ref_tensor'",
            "env.operator",
            "error",
            "--force-reinstall",
        ),
        (
            "AttributeError: '_OpNamespace' 'npu' object has no attribute 'npu_moe_init_routing_v2'",
            "env.operator",
            "error",
            "pip list | grep torch",
        ),
        ("triton==3.2.0\ntriton-ascend==3.2.0rc4", "env.triton", "warning", "pip uninstall -y triton"),
        (
            "/usr/local/Ascend/ascend-toolkit/8.0.RC3.alpha003/aarch64-linux/lib64/libruntime.so: undefined symbol: "
            "_ZN12ErrorManager19ATCReportErrMessageESsRKSt6vectorISsSaISsEES4_",
            "env.symbol",
            "error",
            "set_env.sh",
        ),
        (
            "ImportError: libfoo_bar.so.3: cannot open shared object file: No such file or directory",
            "env.library",
            "error",
            "libfoo_bar.so.3*",
        ),
    ],
)
def test_what_maintainers_named(text: str, rule: str, severity: str, step: str) -> None:
    found = environment(text)
    assert grave(found) == [(rule, severity)]
    assert step in first(found).next_step


@pytest.mark.parametrize(
    "text",
    [
        "AttributeError: '_OpNamespace' 'image' object has no attribute 'decode_jpeg'",
        "triton-ascend==3.2.0rc4",
        "triton==3.2.0",
        "npu-smi 25.2.0 Version: 25.2.0",
        "run npu-smi info to see the cards; dcmi is a library",
    ],
)
def test_what_is_no_conflict(text: str) -> None:
    assert grave(environment(text)) == []


REFUSED = "ERROR: torch_npu-2.5.1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl is not a supported wheel on this platform.\n"


@pytest.mark.parametrize(
    ("more", "rule", "words"),
    [
        ("", "env.python", "cp310"),
        ("Python 3.10.12\nx86_64\n", "env.python", "cp310"),
        ("Python 3.11.9\n", "env.python", "3.10"),
        ("aarch64\n", "env.arch", "aarch64"),
    ],
)
def test_a_wheel_that_pip_refused_is_an_error_whatever_is_told_of_the_machine(
    more: str, rule: str, words: str
) -> None:
    found = environment(REFUSED + more)
    assert grave(found) == [(rule, "error")] and words in first(found).message


def test_the_torch_of_torch_npu_stays_whatever_vllm_asks_for() -> None:
    asks = "vllm 0.11.0 requires torch==2.8.0, but you have torch 2.7.1 which is incompatible.\n"
    found = environment(asks + "torch 2.7.1\ntorch-npu 2.7.1\n")
    assert grave(found) == []
    (note,) = all_findings(found)
    assert (note.rule, note.role, note.next_step) == ("env.requirement", "benign", "")
    assert grave(environment(asks)) == [("env.requirement", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        "ls: cannot access '/dev/davinci*': No such file or directory",
        "ls: 无法访问 '/dev/davinci*': 没有那个文件或目录",
        "ls: cannot access '/dev/davinci_manager': Permission denied",
    ],
)
def test_no_devices_in_a_container(text: str) -> None:
    found = environment(text)
    assert grave(found) == [("env.driver-state", "warning")] and "docker run" in first(found).next_step


def test_a_driver_that_fails_without_a_code_is_no_missing_npu_smi() -> None:
    found = environment("dcmi module initialize failed")
    assert grave(found) == [("env.driver-state", "warning")] and "driver" in first(found).message
    assert "not found" not in first(found).message
