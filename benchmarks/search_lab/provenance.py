"""Where figures come from: machine, versions, commit, command."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("rif-plugins", "numpy", "onnxruntime", "scikit-learn", "textattack", "torch", "transformers")


def provenance(script: str) -> dict[str, Any]:
    """What a reader needs to judge or to repeat a measurement by ``script``."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    words = ["python", script, *map(_without_folders, sys.argv[1:])]
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(shlex.quote(word) for word in words),
        "commit": commit or "unknown",
        "python": platform.python_version(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load_at_start": round(os.getloadavg()[0], 2),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _without_folders(word: str) -> str:
    """Folders of the machine that measured are nobody's business."""
    return Path(word).name if Path(word).is_absolute() else word


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
