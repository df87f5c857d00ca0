"""A headless Chromium driven over its debugging pipe: no driver program, no websocket, no port.

Every request, console message, exception and policy violation is recorded.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# The browser reads commands from descriptor 3 and writes answers to 4.
_LAUNCH = (
    "import os, sys\n"
    "os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4)\n"
    "os.set_inheritable(3, True); os.set_inheritable(4, True)\n"
    "os.execvp(sys.argv[3], sys.argv[3:])\n"
)


def find_chromium() -> str | None:
    """The browser's path, or None. ``RIF_TEST_CHROMIUM`` names another one."""
    return os.environ.get("RIF_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class ChromiumError(RuntimeError):
    """The browser did not start or did not answer."""


class Page:
    """One page of a browser of its own; use as a context manager.

    Attributes:
        requests: Addresses that the page asked for, in order.
        problems: Console errors and warnings, uncaught exceptions, log entries.
    """

    def __init__(self, folder: Path, *, width: int = 1280, height: int = 900, timeout: float = 60.0) -> None:
        program = find_chromium()
        if program is None:
            raise ChromiumError("no Chromium on this machine")
        self.timeout = timeout
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._number = 0
        self._buffer = b""
        self._events: list[dict[str, Any]] = []
        read_command, write_command = os.pipe()
        read_answer, write_answer = os.pipe()
        passed = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (read_command, write_answer)]
        self._write, self._read = write_command, read_answer
        arguments = [
            program,
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},{height}",
            "about:blank",
        ]
        self._log = (folder / "chromium.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *map(str, passed), *arguments],
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        for fd in (read_command, write_answer, *passed):
            os.close(fd)
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(item["targetId"] for item in targets if item["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(10)
        except (ChromiumError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            os.close(self._write)
            os.close(self._read)
            self._log.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        number = self._number
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise ChromiumError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def open(self, path: Path) -> None:
        """Open a file and wait until it has loaded."""
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + self.timeout
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._note(self._receive(deadline))

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise ChromiumError(f"{script[:200]}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def select(self, element: str, text: str) -> None:
        """Choose the option of a select element whose text starts with ``text``."""
        self.run(
            f"(() => {{ const s = document.getElementById({json.dumps(element)});"
            f" s.selectedIndex = [...s.options].findIndex((o) => o.text.startsWith({json.dumps(text)}));"
            " s.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            values: dict[str, Any] = {"type": kind, "key": key, "windowsVirtualKeyCode": code}
            if kind == "keyDown" and key == "Enter":
                values["text"] = "\r"
            self.call("Input.dispatchKeyEvent", **values)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def screenshot(
        self, path: Path, *, width: int, height: int, dark: bool = False, print_style: bool = False
    ) -> None:
        """Save a picture of the whole page."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if print_style else "", features=[scheme])
        self.resize(width, height)
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            if not part:
                raise ChromiumError("Chromium gave no answer in time; see chromium.log in the test's folder")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, event: dict[str, Any]) -> None:
        self._events.append(event)
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(json.dumps(parameters["entry"])[:500])
