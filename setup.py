"""Puts the start-up file into the wheel; everything else is in pyproject.toml and setup.cfg.

TextAttack has no plugin hook. `rif_plugins_autoload.pth` lies next to the package in site-packages,
where Python reads it at start; see `rif_plugins/autoload.py` for what it does. A regular wheel gets
the file through `build_py`. An editable wheel is made without copying files, so there the file is
appended after the build.
"""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

STARTUP_FILE = "rif_plugins_autoload.pth"


class BuildWithStartupFile(build_py):
    """Copies the start-up file beside the package."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_file(STARTUP_FILE, str(self._target()), preserve_mode=False)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        outputs = list(super().get_outputs(include_bytecode))
        return outputs if self.editable_mode else [*outputs, str(self._target())]

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), STARTUP_FILE]

    def _target(self) -> Path:
        return Path(self.build_lib) / STARTUP_FILE


class EditableWithStartupFile(editable_wheel):
    """Appends the start-up file to the finished editable wheel."""

    def run(self) -> None:
        super().run()
        for wheel in Path(self.dist_dir).glob("rif_plugins-*.whl"):
            add_to_wheel(wheel, STARTUP_FILE, Path(STARTUP_FILE).read_bytes())


def add_to_wheel(wheel: Path, name: str, content: bytes) -> None:
    """Adds one file to a wheel and to its RECORD, so that uninstalling removes it too."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    if any(info.filename == name for info, _ in members):
        return
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    line = f"{name},sha256={digest},{len(content)}\n".encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
        for info, data in members:
            archive.writestr(info, line + data if info.filename.endswith(".dist-info/RECORD") else data)


setup(cmdclass={"build_py": BuildWithStartupFile, "editable_wheel": EditableWithStartupFile})
