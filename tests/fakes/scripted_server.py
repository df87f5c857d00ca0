"""A server on this machine that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Answer:
    """What to send: a JSON value as ``data``, or ``body`` as it is."""

    data: Any = None
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    wait_for: threading.Event | None = None


Script = Callable[[Any, int], Answer]
"""From the decoded request and its number, from 0 on, to an answer."""


@dataclass
class ScriptedServer:
    url: str
    requests: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serve(script: Script) -> Iterator[ScriptedServer]:
    """Run a server on a free port for the length of a test."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.requests.append(data)
            seen.headers.append(dict(self.headers))
            answer = script(data, len(seen.requests) - 1)
            if answer.hang_up:
                self.close_connection = True
                return
            body = json.dumps(answer.data).encode() if answer.body is None else answer.body
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if answer.wait_for is not None:
                self.wfile.write(body[:1])
                answer.wait_for.wait(20)
                body = body[1:]
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True  # the client has had enough

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    seen = ScriptedServer(f"http://127.0.0.1:{server.server_address[1]}/predict")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
