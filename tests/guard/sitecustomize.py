"""No network in tests: a Python with this guard connects to this machine only.

The tests load it themselves; the processes that they start find it through ``PYTHONPATH``, as Python imports
a module of this name when it starts. The guard listens to Python's own audit events, which no code can take
back, so that it holds for every library that uses Python's sockets.
"""

from __future__ import annotations

import sys

_NAMES = ("", "localhost", "::1", "ip6-localhost")
_CONNECTIONS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_LOOKUPS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")


def is_local(host: object) -> bool:
    """True for this machine, and for what is no host: local sockets, kernel interfaces."""
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("utf-8", "replace")
    if not isinstance(host, str):
        return True
    return host in _NAMES or host.startswith("127.")


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    # The error is one of Python's own, so that workers can hand it on.
    if event in _CONNECTIONS:
        address = arguments[1]
        # Local sockets have a path for an address; hosts stand in a tuple.
        if isinstance(address, tuple) and address and not is_local(address[0]):
            raise PermissionError(f"tests have no network: {address!r}")
    elif event in _LOOKUPS and not is_local(arguments[0]):
        raise PermissionError(f"tests have no network: {arguments[0]!r}")


def start() -> None:
    """Guard this process, once."""
    if not getattr(sys, "_has_network_guard", False):
        sys._has_network_guard = True  # type: ignore[attr-defined]
        sys.addaudithook(_guard)


start()
