"""Connections of the client ``openai`` to one address, bounded in time and size."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import threading
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rif_plugins.core.addresses import without_secrets
from rif_plugins.errors import UsageError
from rif_plugins.llm.attempts import AttemptError, refusal
from rif_plugins.optional import require

# The pair of this package comes first: who keeps a key for one service does not want it sent to another.
VARIABLES = (("RIF_LLM_BASE_URL", "RIF_LLM_KEY"), ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
PUBLIC_ADDRESS = "https://api.openai.com/v1"
PURPOSE = "language models behind an address"
_NO_KEY = "none"
_CONNECT_SECONDS = 10.0
_MOST_ERROR_BYTES = 1 << 16


@dataclass(frozen=True)
class Place:
    """Where a server is, and the key for it; the key stands in no ``repr``.

    Attributes:
        address: Begins with ``http``; may hold secrets.
        key: ``""`` where there is none.
    """

    address: str
    key: str = ""

    def __repr__(self) -> str:
        return f"Place({without_secrets(self.address)!r})"

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        host = urlsplit(self.address).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


def place_of(environment: Mapping[str, str] | None = None) -> Place:
    """The server that the environment names; a key goes to the address of its own pair only.

    Raises:
        UsageError: Nothing is set, or something that cannot be used.
    """
    variables = os.environ if environment is None else environment
    for address_name, key_name in VARIABLES:
        address = variables.get(address_name, "").strip()
        key = variables.get(key_name, "").strip()
        if not address and not (key and key_name == "OPENAI_API_KEY"):
            continue
        address = address or PUBLIC_ADDRESS
        try:
            parts = urlsplit(address)
            is_sound = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_sound = False
        if not is_sound:
            raise UsageError(f"{address_name} must be an http(s) address, such as http://localhost:8000/v1")
        if not (key.isascii() and key.isprintable()):
            raise UsageError(f"{key_name} holds characters that no header may have: set it again")
        return Place(address, key)
    raise UsageError(
        "neither OPENAI_BASE_URL nor OPENAI_API_KEY is set: set the address of an OpenAI-compatible server "
        "(and its key, if it wants one), or run a model here with llm:gguf:FILE"
    )


class Connections:
    """Lines that are free for the next request.

    A line that a request has to be torn away from is closed: that is the only way to end the reading of a
    server that sends a byte now and then for ever.

    Args:
        place: The server.
        max_bytes: Longest answer, unpacked.
    """

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._place = place
        self._max_bytes = max_bytes
        self._free: list[_Line] = []
        self._busy: list[_Line] = []
        self._n_breaks = 0
        self._lock = threading.Lock()
        weakref.finalize(self, _break_all, self._free)

    def post(self, body: dict[str, Any], seconds: float) -> bytes:
        """The server's whole answer to a request.

        Raises:
            AttemptError: There is none within ``seconds``, or one that is no answer.
        """
        with self._line() as line:
            timer = threading.Timer(seconds, line.break_off)
            timer.daemon = True
            timer.start()
            try:
                raw, is_whole = line.asked(body, seconds, self._max_bytes)
            except Exception as error:  # whatever the client and what it stands on raise
                if line.is_broken or "Timeout" in type(error).__name__:
                    raise AttemptError(f"no whole answer within {seconds:g} s") from None
                raise _told(error) from None
            finally:
                timer.cancel()
            if not is_whole:
                raise AttemptError(f"answers more than {self._max_bytes} bytes", may_help=False)
            return raw

    def close(self) -> None:
        """Break off whatever is under way."""
        with self._lock:
            self._n_breaks += 1
            lines = [*self._free, *self._busy]
            self._free.clear()
        _break_all(lines)

    @contextlib.contextmanager
    def _line(self) -> Iterator[_Line]:
        with self._lock:
            line, n_breaks = self._free.pop() if self._free else None, self._n_breaks
        line = line or _Line(self._place)
        with self._lock:
            self._busy.append(line)
            is_broken_off = n_breaks != self._n_breaks
        try:
            if is_broken_off:
                raise AttemptError("broken off", may_help=False)
            yield line
        except BaseException as error:
            # After a refusal the line is as good as before.
            if not (isinstance(error, AttemptError) and 400 <= error.status < 500):
                line.break_off()
            raise
        finally:
            with self._lock:
                self._busy.remove(line)
                if not line.is_broken:
                    self._free.append(line)


class _Line:
    """A client with a connection of its own, for one request at a time."""

    def __init__(self, place: Place) -> None:
        openai = require("openai", purpose=PURPOSE)
        self._key = place.key
        self._broken = threading.Event()
        self._limits = openai.Timeout
        http_client = openai.DefaultHttpxClient(
            # A redirect would carry people's texts to who knows where; a proxy cannot reach this machine.
            follow_redirects=False,
            trust_env=not place.is_loopback,
            event_hooks={"request": [self._watch], "response": [self._refuse]},
        )
        self._client = openai.OpenAI(
            api_key=place.key or _NO_KEY, base_url=place.address, max_retries=0, http_client=http_client
        )

    @property
    def is_broken(self) -> bool:
        """Whether it was broken off and is of no more use."""
        return self._broken.is_set()

    def asked(self, body: dict[str, Any], seconds: float, max_bytes: int) -> tuple[bytes, bool]:
        """At most ``max_bytes`` of the answer, and whether they are all; raises what the client raises."""
        limits = self._limits(seconds, connect=min(seconds, _CONNECT_SECONDS))
        opened = self._client.chat.completions.with_streaming_response.create(**body, timeout=limits)
        with opened as response:
            return _read(response, max_bytes)

    def break_off(self) -> None:
        """Close it, even while it waits for an answer."""
        self._broken.set()
        with contextlib.suppress(Exception):
            self._client.close()

    def _watch(self, request: Any) -> None:
        request.extensions["trace"] = self._go_on

    def _go_on(self, step: str, _: Any) -> None:
        """Stop before the next step of a request: closing does not reach a connection that is being made."""
        if self.is_broken and step.endswith(".started") and "close" not in step:
            raise AttemptError("broken off", may_help=False)

    def _refuse(self, response: Any) -> None:
        """End an answer that is none before the client reads it: its length is bounded here."""
        status = int(response.status_code)
        if 200 <= status < 300:
            return
        raw, _ = _read(response, _MOST_ERROR_BYTES)
        raise refusal(status, raw, response.headers.get("retry-after"), self._key)


def _told(error: BaseException) -> AttemptError:
    """What went wrong; the messages of the libraries quote addresses, so only kinds are told."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AttemptError):
            return cause
        cause = cause.__cause__ or cause.__context__
    name = type(error).__name__
    if name.endswith(("ConnectionError", "ConnectError", "ReadError", "WriteError", "ProtocolError")):
        return AttemptError("the connection failed or broke off")
    return AttemptError(f"the client failed ({name})", may_help=False)


def _break_all(lines: list[_Line]) -> None:
    for line in lines:
        line.break_off()


def _read(response: Any, limit: int) -> tuple[bytes, bool]:
    """At most ``limit`` bytes, and whether they are all."""
    parts: list[bytes] = []
    size = 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > limit:
            return b"".join(parts)[:limit], False
    return b"".join(parts), True
