"""Post JSON to one address, patiently and within bounds.

``RIF_ENDPOINT_TOKEN`` in the environment is sent as ``Authorization: Bearer ...``.  It is read at each
request and never stored, printed or logged.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rif_plugins.errors import VictimError, VictimRowError
from rif_plugins.optional import require
from rif_plugins.victims.base import one_line

TOKEN_VARIABLE = "RIF_ENDPOINT_TOKEN"
_CHUNK = 1 << 16
_LONGEST_WAIT = 30.0
_CONNECT_SECONDS = 10.0


class StatusError(Exception):
    """The server understood and refused; the message says how."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _TransientError(Exception):
    """Another attempt may succeed; ``wait`` is what the server asked for, in seconds."""

    def __init__(self, reason: str, *, status: int = 0, wait: float | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.wait = wait


@dataclass(frozen=True)
class Limits:
    """How patient a client is.

    Attributes:
        seconds: Longest time for one attempt.
        attempts: Attempts in all, after status 429 or 5xx, a time-out or a lost connection.
        first_wait: Seconds before the second attempt; each further wait is twice as long, 30 s at most.
        max_bytes: Longest answer, unpacked.
    """

    seconds: float = 60.0
    attempts: int = 4
    first_wait: float = 0.5
    max_bytes: int = 64 << 20


class JsonClient:
    """Posts JSON to one address.

    Args:
        url: An http(s) address without user and password.
        limits: How patient to be.
        sleep: Waits between attempts.

    Attributes:
        name: The address without query and fragment, for messages and reports.

    Raises:
        VictimError: ``url`` is no such address.
    """

    def __init__(
        self, url: str, *, limits: Limits | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.name, self._is_loopback = _public_name(url)
        self._url = url
        self._limits = limits or Limits()
        self._sleep = sleep
        self._session: Any = None

    def warn_if_exposed(self) -> None:
        """Warn where the token would travel unencrypted over a network."""
        if _token() and self._url.lower().startswith("http:") and not self._is_loopback:
            warnings.warn(
                f"{TOKEN_VARIABLE} is sent to {self.name} unencrypted: use an https address",
                UserWarning,
                stacklevel=2,
            )

    def post(self, data: Any) -> Any:
        """Send ``data`` and return the decoded answer; waits and tries again where that may help.

        Raises:
            StatusError: A status that another attempt would not change.
            VictimRowError: The server answered status 500 each time.
            VictimError: It cannot be reached, is too slow or too long, or answers no JSON.
        """
        wait = self._limits.first_wait
        body = b""
        for attempt in range(1, self._limits.attempts + 1):
            try:
                body = self._attempt(data)
                break
            except _TransientError as error:
                if attempt == self._limits.attempts:
                    # A server that runs and fails on a text is likely to be well on others.
                    kind = VictimRowError if error.status == 500 else VictimError
                    raise self.error(f"{error} (attempt {attempt} of {attempt})", kind) from None
                self._sleep(min(_LONGEST_WAIT, wait if error.wait is None else max(wait, error.wait)))
                wait *= 2
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            start = body[:60].decode("utf-8", "replace")
            raise self.error(f"answered no JSON but {_shown(start)}") from None

    def error(self, what: str, kind: type[VictimError] = VictimError) -> VictimError:
        """An error about this server."""
        return kind(f"endpoint {self.name}: {what}: check the address and the server")

    def _attempt(self, data: Any) -> bytes:
        requests = require("requests", purpose="endpoints")
        seconds = self._limits.seconds
        deadline = time.monotonic() + seconds
        try:
            response = self._opened(requests).post(
                self._url,
                json=data,
                timeout=(min(_CONNECT_SECONDS, seconds), seconds),
                stream=True,
                allow_redirects=False,
            )
            with contextlib.closing(response):
                self._check_status(response)
                return self._read(response, deadline)
        except requests.exceptions.SSLError:
            raise self.error("the certificate of the server cannot be checked") from None
        except requests.exceptions.Timeout:
            raise _TransientError(f"no answer within {seconds:g} s") from None
        except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError):
            raise _TransientError("the connection failed or broke off") from None
        except requests.exceptions.RequestException as error:
            # Messages of the library quote the whole address, so only the kind of error is told.
            raise self.error(f"the request failed ({type(error).__name__})") from None

    def _opened(self, requests: Any) -> Any:
        if self._session is None:
            session = requests.Session()
            session.trust_env = not self._is_loopback  # a proxy cannot reach this machine's own servers
            session.auth = _authorise
            self._session = session
        return self._session

    def _check_status(self, response: Any) -> None:
        status = int(response.status_code)
        if status == 200:
            return
        if 300 <= status < 400:
            raise self.error(f"redirects elsewhere (status {status}), give the final address")
        reason = f"status {status}"
        with contextlib.suppress(Exception):
            start = next(response.iter_content(300), b"").decode("utf-8", "replace")
            reason += f" {_shown(start)}" if start.strip() else ""
        if status in (401, 403):
            raise StatusError(status, f"{reason}, set {TOKEN_VARIABLE} to a valid token")
        if status == 429 or status >= 500:
            wait = _retry_after(response.headers.get("Retry-After"))
            raise _TransientError(reason, status=status, wait=wait)
        raise StatusError(status, reason)

    def _read(self, response: Any, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_content(_CHUNK):
            parts.append(part)
            size += len(part)
            if size > self._limits.max_bytes:
                raise self.error(f"answers more than {self._limits.max_bytes} bytes, expected one row a text")
            if time.monotonic() > deadline:
                raise _TransientError(f"no whole answer within {self._limits.seconds:g} s")
        return b"".join(parts)

    def __getstate__(self) -> dict[str, Any]:
        """Connections stay in their process."""
        return {**self.__dict__, "_session": None}


def _public_name(url: str) -> tuple[str, bool]:
    """The address without its secrets, and whether it is on this machine."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme.lower() not in ("http", "https") or not host:
        raise VictimError(
            "an endpoint must be an address such as https://host/path, got one without a valid host: "
            "correct the address"
        )
    if parts.username is not None or parts.password is not None:
        raise VictimError(
            f"the address of the endpoint at {host} holds a user or a password: "
            f"leave them out and set {TOKEN_VARIABLE}"
        )
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = host == "localhost"
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path}", is_loopback


def _token() -> str:
    return os.environ.get(TOKEN_VARIABLE, "").strip()


def _authorise(request: Any) -> Any:
    """Set the header here: otherwise the library would take a password from a ``.netrc`` file."""
    token = _token()
    if token:
        if not token.isascii() or not token.isprintable():
            raise VictimError(f"{TOKEN_VARIABLE} holds characters that no header may have: set it again")
        request.headers["Authorization"] = f"Bearer {token}"
    return request


def _shown(text: str) -> str:
    """What a server sent, as one line; servers that echo requests would echo the token."""
    token = _token()
    return one_line(repr(text.replace(token, "***") if token else text), 120)


def _retry_after(value: str | None) -> float | None:
    try:
        seconds = float(value) if value is not None else None
    except ValueError:  # a date: the usual wait will do
        return None
    return seconds if seconds is not None and 0 <= seconds < float("inf") else None
