"""No network but loopback, a home of our own, and a way to run Python in a process of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
# For processes that the tests start: a proxy that refuses at once, and hubs that do not even try.
for _name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
    os.environ[_name] = "http://127.0.0.1:9"
for _name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
    os.environ[_name] = "1"


class NetworkBlockedError(OSError):
    """A test tried to reach something outside this machine."""


def _is_local(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    return name in (None, "", "localhost", "::1") or str(name).startswith("127.")


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    connect, connect_ex, lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(target: socket.socket, address: Any) -> None:
        if target.family in (socket.AF_INET, socket.AF_INET6) and not _is_local(address[0]):
            raise NetworkBlockedError(f"tests have no network: {address!r}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check(self, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check(self, address)
        return connect_ex(self, address)

    def guarded_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_local(host):
            raise NetworkBlockedError(f"tests have no network: {host!r}")
        return lookup(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_lookup)
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
