"""Lines of program counters from kernel objects: which object belongs to a site, and what it gives."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from npulse.core.api import memory
from npulse.core.memory.faults import Access, Fault
from npulse.core.memory.objects import KernelObject, kernel_names, objects_of, with_object_lines
from npulse.core.memory.sites import Site, Sites
from npulse.core.run.discover import discover

from .logs_by_hand import SEEN, START

SOURCE = """\
int sink;
int add_custom(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += i * n;
    }
    return sum;
}
"""
NPU_MACHINE = 0x1029


def site(kernel: str, pc: int = 0x10, kernel_name: str = "", tool: str = "msSanitizer") -> Site:
    sites = Sites(lambda frames: frames[0] if frames else None)
    figures = {"kernel_name": kernel_name} if kernel_name else {}
    access = Access(space="GM", kernel=kernel, pc=pc)
    sites.add(Fault(tool, "illegal read", "error", "", "a.log", 1, 1, (access,), figures=figures))  # type: ignore[arg-type]
    return sites.snapshot()[0]


@pytest.mark.parametrize(
    ("kernel", "kernel_name", "want"),
    [
        ("add_custom", "", "add_custom"),
        ("void flash_attn_row<half, 64u>(unsigned char*, unsigned char*)", "", "flash_attn_row"),
        ("ns::add<1>(int)", "", "add"),
        ("AddCustom", "AddCustom_ab12_0_mix_aiv", "AddCustom_ab12_0_mix_aiv"),
    ],
)
def test_what_the_object_of_a_kernel_may_be_called(kernel: str, kernel_name: str, want: str) -> None:
    assert kernel_names(site(kernel, kernel_name=kernel_name))[0] == want


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An object with debug data, as a kernel's: its machine is no host's."""
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    if shutil.which("gcc") is None or shutil.which("nm") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("objects")
    (folder / "add_custom.cpp").write_text(SOURCE, encoding="utf-8")
    path = folder / "add_custom.o"
    command = ["gcc", "-x", "c", "-g", "-O0", "-nostdlib", "-shared", "-o", str(path), "add_custom.cpp"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    data = bytearray(path.read_bytes())
    struct.pack_into("<H", data, 18, NPU_MACHINE)
    path.write_bytes(data)
    return path


def pc_of_line(path: Path, line: int) -> int:
    """An address of that source line, by the assembler's own listing of the symbol and a search in lines."""
    from npulse.core.formats.kernel_object import lines_at

    listed = subprocess.run(["nm", str(path)], check=True, capture_output=True, text=True).stdout
    start = next(int(row.split()[0], 16) for row in listed.splitlines() if row.endswith(" add_custom"))
    found = lines_at(path, path.parent, range(start, start + 60))
    return next(pc for pc, places in found.items() if places and places[0].line == line)


def log_of(folder: Path, pc: int) -> None:
    folder.mkdir(exist_ok=True)
    record = (
        "====== ERROR: illegal read of size 224\n"
        "======    at 0x12c0c0014e00 on GM in add_custom\n"
        "======    in block aiv(0) on device 0\n"
        f"======    code in pc current {pc:#x} (serialNo:65)\n\n"
    )
    (folder / "check.log").write_text(START + record + SEEN, encoding="utf-8")


def test_an_object_in_the_run_gives_the_line(built: Path, tmp_path: Path) -> None:
    log_of(tmp_path, pc_of_line(built, 5))
    before = memory(tmp_path)
    assert (
        "line" not in before.findings[0].figures and "-g --cce-enable-sanitizer" in before.findings[0].message
    )
    shutil.copy(built, tmp_path / "kernel.o.4711_4711")
    assert "cann.kernel_object" in {artifact.kind for artifact in discover(tmp_path).artifacts}
    report = memory(tmp_path, source_roots=[built.parent])
    (finding,) = report.findings
    assert finding.figures["line"] == 5 and finding.subject.endswith("add_custom.cpp:5")
    assert "kernel.o.4711_4711" in finding.message
    assert finding.source.endswith("sum += i * n;")


def test_of_several_objects_the_one_with_the_kernels_name(built: Path) -> None:
    other = KernelObject(built.with_name("other.o"), built.parent, "other.o")
    own = objects_of((), built.parent, [built])[0]
    pc = pc_of_line(built, 5)
    one = site("add_custom", pc)
    resolved = with_object_lines([one], [other, own], lambda frames: frames[0], [], lambda: False)
    assert resolved.sites[0].place is not None and resolved.sites[0].place.line == 5
    assert resolved.sites[0].resolved_by == "add_custom.o"
    stranger = site("mul_custom", pc)
    assert with_object_lines([stranger], [other, own], lambda f: f[0], [], lambda: False).sites == (stranger,)


def test_one_object_is_not_taken_for_two_kernels(built: Path) -> None:
    own = objects_of((), built.parent, [built])
    sites = [site("mul_custom", 0x10), site("sub_custom", 0x10)]
    assert with_object_lines(sites, own, lambda f: f[0], [], lambda: False).sites == tuple(sites)


def test_a_damaged_object_is_a_problem_and_the_site_stays(tmp_path: Path) -> None:
    pytest.importorskip("elftools", reason="pyelftools is not installed")
    (tmp_path / "add_custom.o").write_bytes(
        b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, NPU_MACHINE) + b"x" * 60
    )
    log_of(tmp_path, 0x10)
    report = memory(tmp_path)
    assert [problem.artifact for problem in report.problems] == ["add_custom.o"]
    assert report.findings[0].figures["pcs"] == ["0x10"] and report.verdict == "fail"
