"""The guard of the tests: no connection leaves this machine, from here or from a process that is started."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

# An address for documents: no machine has it.
NOWHERE = ("192.0.2.1", 80)


@pytest.mark.parametrize("family", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_other_machines_cannot_be_reached(family: int) -> None:
    with socket.socket(socket.AF_INET, family) as one, pytest.raises(OSError, match="tests have no network"):
        one.connect(NOWHERE)


def test_neither_in_other_ways() -> None:
    with pytest.raises(OSError, match="tests have no network"):
        socket.create_connection(("example.org", 80))
    with pytest.raises(OSError, match="tests have no network"):
        socket.gethostbyname("example.org")
    with socket.socket(socket.AF_INET) as one, pytest.raises(OSError, match="tests have no network"):
        one.connect_ex(NOWHERE)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with datagrams, pytest.raises(OSError, match="tests have no network"):
        datagrams.sendto(b"x", NOWHERE)
    if socket.has_ipv6:
        other = socket.socket(socket.AF_INET6)
        with other, pytest.raises(OSError, match="tests have no network"):
            other.connect(("2001:db8::1", 80, 0, 0))
    with pytest.raises(OSError, match="tests have no network"):
        asyncio.run(asyncio.open_connection(*NOWHERE))


def answered(server: socket.socket) -> bytes:
    with socket.socket(server.family) as client:
        client.connect(server.getsockname())
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"hello")
            return client.recv(5)


def test_this_machine_can(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert answered(server) == b"hello"
    if hasattr(socket, "AF_UNIX"):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(tmp_path / "s"))  # such addresses are short
            server.listen()
            assert answered(server) == b"hello"


def test_a_process_that_is_started_has_the_guard_too(run_python: Any) -> None:
    code = f"import socket\ntry: socket.create_connection({NOWHERE!r}, 1)\nexcept OSError as e: print(e)"
    result = run_python("-c", code)
    assert result.stdout.startswith("tests have no network"), result.stderr


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_workers_have_the_guard_too(method: str) -> None:
    pool = multiprocessing.get_context(method).Pool(1)
    with pool, pytest.raises(OSError, match="tests have no network"):
        pool.apply(socket.create_connection, (NOWHERE, 1))


def test_a_thread_has_the_guard_too() -> None:
    found: list[str] = []

    def try_it() -> None:
        try:
            socket.create_connection(NOWHERE, 1)
        except OSError as error:
            found.append(str(error))

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    assert "tests have no network" in found[0]
