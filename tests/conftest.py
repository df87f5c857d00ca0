"""No network but loopback, a home of our own, and a way to run Python in a process of its own."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

# Before anything imports TextAttack: it downloads NLTK data once per home folder and leaves a mark there,
# and other libraries write their caches and configuration there too.
_HOME = Path(tempfile.mkdtemp(prefix="rif-plugins-tests-"))
(_HOME / ".cache" / "textattack").mkdir(parents=True)
(_HOME / ".cache" / "textattack" / "post_install_check_3").touch()
os.environ["HOME"] = str(_HOME)
os.environ.pop("XDG_CACHE_HOME", None)
os.environ.pop("TA_CACHE_DIR", None)
# Settings must not leak into tests; where the data lie may be said.
_KEPT = ("RIF_DATA_DIR", "RIF_TEST_CHROMIUM")
for _name in [name for name in os.environ if name.startswith("RIF_") and name not in _KEPT]:
    del os.environ[_name]
# No connection but to this machine, here and in every Python that the tests start.
_GUARD = Path(__file__).resolve().parent / "guard"
runpy.run_path(str(_GUARD / "sitecustomize.py"))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_GUARD), os.environ.get("PYTHONPATH"))))
# For programs of other kinds: a proxy that refuses at once, and hubs that do not even try.
for _name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
    os.environ[_name] = "http://127.0.0.1:9"
for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
    os.environ[_name] = "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fuzz: hostile values; a longer look is `make fuzz`")


@pytest.fixture(autouse=True, scope="session")
def _clean_home() -> Iterator[None]:
    yield
    shutil.rmtree(_HOME, ignore_errors=True)


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Run this Python with the given arguments in `tmp_path` and return what it printed.

    Keyword arguments are environment variables to add; `None` removes one.
    """

    def run(*arguments: str, **variables: str | None) -> subprocess.CompletedProcess[str]:
        environment: dict[str, str] = dict(os.environ)
        for name, value in variables.items():
            environment.pop(name, None)
            if value is not None:
                environment[name] = value
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run


# A loaded machine draws slowly; that is no property of the code under test.
hypothesis.settings.register_profile(
    "loaded", suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None
)
hypothesis.settings.load_profile("loaded")
