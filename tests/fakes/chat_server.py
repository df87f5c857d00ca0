"""An OpenAI-compatible server on loopback that a test scripts; it really listens and really answers."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """What to send back.

    Attributes:
        texts: One choice a text.
        status: Status code; others than 200 send ``message`` as an error.
        message: The error.
        details: Further fields of the error.
        headers: Further headers.
        raw: Sent as it is, in place of everything.
        top: Log-probabilities of first tokens.
        delay: Seconds to wait first.
        is_endless: Send white space, with this status, until the client leaves.
        is_dribbling: Send the head of an answer byte by byte, and never end it.
        is_cut: Close the connection without an answer.
    """

    texts: tuple[str, ...] = ("ok",)
    status: int = 200
    message: str = ""
    details: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    top: dict[str, float] | None = None
    delay: float = 0.0
    is_endless: bool = False
    is_dribbling: bool = False
    is_cut: bool = False


class ChatServer:
    """The server; ``script(body, number)`` decides each answer.

    Attributes:
        bodies: Every request body, in order of arrival.
        keys: The ``Authorization`` header of each.
        most_at_once: Most requests that were under way at the same time.
    """

    def __init__(self, script: Callable[[dict[str, Any], int], Reply]) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.most_at_once = 0
        self._under_way = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with server._lock:
                    number = len(server.bodies)
                    server.bodies.append(body)
                    server.keys.append(self.headers.get("Authorization"))
                    server._under_way += 1
                    server.most_at_once = max(server.most_at_once, server._under_way)
                try:
                    with contextlib.suppress(OSError):
                        self._send(server.script(body, number), body)
                finally:
                    with server._lock:
                        server._under_way -= 1

            def _send(self, reply: Reply, body: dict[str, Any]) -> None:
                time.sleep(reply.delay)
                if reply.is_cut:
                    self.close_connection = True
                    return
                if reply.is_dribbling:
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Filler: ")
                    while True:
                        self.wfile.write(b"x")
                        time.sleep(0.02)
                if reply.is_endless:
                    self.send_response(reply.status)
                    self.send_header("Content-Type", "application/json")
                    self.end_headers()
                    while True:
                        self.wfile.write(b" " * 4096)
                        time.sleep(0.01)
                content = reply.raw if reply.raw is not None else json.dumps(_content(reply, body)).encode()
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def address(self) -> str:
        """What ``OPENAI_BASE_URL`` takes."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _content(reply: Reply, body: dict[str, Any]) -> dict[str, Any]:
    if reply.status != 200:
        return {"error": {"message": reply.message, "type": "scripted", **reply.details}}
    choices = []
    for index, text in enumerate(reply.texts):
        choice: dict[str, Any] = {"index": index, "message": {"role": "assistant", "content": text}}
        if reply.top is not None and body.get("logprobs"):
            top = [{"token": token, "logprob": value} for token, value in reply.top.items()]
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        choices.append(choice)
    return {"choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 3 * len(choices)}}


@contextlib.contextmanager
def serving(script: Callable[[dict[str, Any], int], Reply]) -> Iterator[ChatServer]:
    """A running server."""
    with ChatServer(script) as server:
        yield server
