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
    """Clients that are free for the next request; each has a connection of its own.

    A client that a request has to be torn away from is closed: that is the only way to end the reading of a
    server that sends a byte now and then for ever.

    Args:
        place: The server.
        max_bytes: Longest answer, unpacked.
    """

    def __init__(self, place: Place, max_bytes: int) -> None:
        self._place = place
        self._max_bytes = max_bytes
        self._free: list[Any] = []
        self._busy: list[Any] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._free)

    def post(self, body: dict[str, Any], seconds: float) -> bytes:
        """The server's whole answer to a request.

        Raises:
            AttemptError: There is none within ``seconds``, or one that is no answer.
        """
        with self._client() as client:
            is_late = threading.Event()
            timer = threading.Timer(seconds, _break_off, (client, is_late))
            timer.daemon = True
            timer.start()
            try:
                return self._asked(client, body, seconds)
            except Exception as error:  # whatever the client and what it stands on raise
                if is_late.is_set() or "Timeout" in type(error).__name__:
                    raise AttemptError(f"no whole answer within {seconds:g} s") from None
                raise self._told(error) from None
            finally:
                timer.cancel()

    def close(self) -> None:
        """Break off whatever is under way."""
        with self._lock:
            clients = [*self._free, *self._busy]
            self._free.clear()
        _close_all(clients)

    def _asked(self, client: Any, body: dict[str, Any], seconds: float) -> bytes:
        openai = require("openai", purpose=PURPOSE)
        limits = openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        opened = client.chat.completions.with_streaming_response.create(**body, timeout=limits)
        with opened as response:
            raw, is_whole = _read(response, self._max_bytes)
        if not is_whole:
            raise AttemptError(f"answers more than {self._max_bytes} bytes", may_help=False)
        return raw

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        with self._lock:
            client = self._free.pop() if self._free else None
        client = client or self._opened()
        with self._lock:
            self._busy.append(client)
        try:
            yield client
        except BaseException as error:
            # After a refusal the connection is as good as before.
            if not (isinstance(error, AttemptError) and 400 <= error.status < 500):
                _close_all([client])
            raise
        finally:
            with self._lock:
                self._busy.remove(client)
                if not client.is_closed():
                    self._free.append(client)

    def _opened(self) -> Any:
        openai = require("openai", purpose=PURPOSE)
        http_client = openai.DefaultHttpxClient(
            # A redirect would carry people's texts to who knows where; a proxy cannot reach this machine.
            follow_redirects=False,
            trust_env=not self._place.is_loopback,
            event_hooks={"response": [self._refuse]},
        )
        return openai.OpenAI(
            api_key=self._place.key or _NO_KEY,
            base_url=self._place.address,
            max_retries=0,
            http_client=http_client,
        )

    def _refuse(self, response: Any) -> None:
        """End an answer that is none before the client reads it: its length is bounded here."""
        status = int(response.status_code)
        if 200 <= status < 300:
            return
        raw, _ = _read(response, _MOST_ERROR_BYTES)
        raise refusal(status, raw, response.headers.get("retry-after"), self._place.key)

    def _told(self, error: BaseException) -> AttemptError:
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


def _break_off(client: Any, is_late: threading.Event) -> None:
    is_late.set()
    _close_all([client])


def _close_all(clients: list[Any]) -> None:
    for client in clients:
        with contextlib.suppress(Exception):
            client.close()


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
