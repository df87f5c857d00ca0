"""Import optional packages late, and say how to get them when they are absent."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from rif_plugins.errors import MissingDependencyError

# Some releases of onnxruntime keep a number of this machine in the user's home and report to their maker.
# They read the variable when they are loaded; who wants that sets it to 0.
# Ray reports its use unless told not to, and asks for a choice about devices by a warning.
_BEFORE = {
    "onnxruntime": {"ORT_DISABLE_TELEMETRY": "1"},
    "ray": {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"},
}


def require(module: str, *, package: str | None = None, purpose: str) -> ModuleType:
    """Import ``module`` or raise an error that names the command to install it.

    Args:
        module: Dotted module name, such as ``"onnxruntime"``.
        package: Name on the package index where it differs from the module's top level.
        purpose: What needs it, completing the sentence "... is needed for".

    Raises:
        MissingDependencyError: The package that holds ``module`` is not installed.
    """
    for name, value in _BEFORE.get(module.partition(".")[0], {}).items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        name = package or top
        raise MissingDependencyError(
            f"{top} is needed for {purpose} and is not installed: run `pip install {name}`"
        ) from error
