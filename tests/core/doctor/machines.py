"""A file system of a machine with Ascend software, made of small files."""

from __future__ import annotations

import os
import platform
import stat
from pathlib import Path

from npulse.core.doctor.inventory import Machine

ARCH = platform.machine()
TOOLKIT = """package_name=Ascend-cann-toolkit
version={release}
innerversion={inner}SPC001B231
compatible_version=[V100R001C15],[V100R001C18],[V100R001C19],[V100R001C20],[V100R001C21]
arch={arch}
os=linux
path={home}/{arch}-linux
"""
DRIVER = """Version={release}
ascendhal_version=7.35.23
aicpu_version=1.0
Innerversion={inner}SPC006B236
compatible_version={compatible}
compatible_version_fw=[7.0.0,8.9.9]
package_version={release}
"""
FIRMWARE = "Version={release}\nfirmware_version=1.0\npackage_version=25.2.0\n"
NNAL = (
    "    Ascend-cann-atb : {release}\n    Ascend-cann-atb Version : {release}.B115\n    Platform : aarch64\n"
)
INSTALL = """UserName=HwHiAiUser
UserGroup=HwHiAiUser
Driver_Install_Type=full
Driver_Install_Path_Param=/usr/local/Ascend
Driver_Install_Status={status}
"""
PYTHON = """#!/bin/sh
echo 'noise of a shell'
echo '{answer}'
"""


class Disk:
    """A root folder to put files into, by absolute paths."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str, *, is_program: bool = False) -> None:
        """A file with this text."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if is_program:
            file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def link(self, path: str, to: str) -> None:
        """A relative link."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(to, file)

    def toolkit(
        self,
        release: str = "8.2.RC1",
        inner: str = "V100R001C22",
        *,
        home: str = "",
        arch: str = ARCH,
    ) -> str:
        """A toolkit of the layout before 8.5, or in `home`; returns its folder."""
        home = home or f"/usr/local/Ascend/ascend-toolkit/{release}"
        text = TOOLKIT.format(release=release, inner=inner, home=home, arch=arch)
        self.write(f"{home}/{arch}-linux/ascend_toolkit_install.info", text)
        self.write(f"{home}/lib64/libascendcl.so", "")
        return home

    def driver(
        self,
        release: str = "25.2.0",
        inner: str = "V100R001C22",
        compatible: str = "[V100R001C19],[V100R001C20],[V100R001C21],[V100R001C22]",
    ) -> None:
        """A driver with its firmware."""
        text = DRIVER.format(release=release, inner=inner, compatible=compatible)
        self.write("/usr/local/Ascend/driver/version.info", text)
        self.write("/usr/local/Ascend/firmware/version.info", FIRMWARE.format(release="7.7.0.6.236"))
        self.write("/usr/local/Ascend/driver/lib64/libascend_hal.so", "")
        self.write("/etc/ascend_install.info", INSTALL.format(status="complete"))

    def devices(self, n: int) -> None:
        """Device nodes, as files."""
        for number in range(n):
            self.write(f"/dev/davinci{number}", "")
        self.write("/dev/davinci_manager", "")

    def program(self, path: str, text: str = "#!/bin/sh\n") -> None:
        """A program."""
        self.write(path, text, is_program=True)

    def machine(self, python: str | None = "", **variables: str) -> Machine:
        """The machine as the job sees it; python "": none."""
        told = {"PATH": "/usr/bin", "HOME": "/root", **variables}
        return Machine(root=self.root, variables=told, python=python or None)
