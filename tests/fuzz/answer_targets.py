"""Answers of models: what endpoints send, what callables return."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from fuzz import hostile
from fuzz.engine import Target

from rif_plugins.core.predictions import PredictionReader
from rif_plugins.victims.endpoint import EndpointVictim
from rif_plugins.victims.endpoint_replies import read_reply
from rif_plugins.victims.http_client import JsonClient, Limits

_TEXTS = ["one", "two"]
REPLIES: tuple[Any, ...] = (
    {"probabilities": [[0.2, 0.8], [0.6, 0.4]], "label_names": ["negative", "positive"]},
    {"logits": [[1.5, -2.0], [0.1, 3]]},
    [[0.2, 0.8], [0.6, 0.4]],
    [0.2, 0.7],
    [
        [{"label": "negative", "score": 0.2}, {"label": "positive", "score": 0.8}],
        [{"label": "positive", "score": 0.5}, {"label": "negative", "score": 0.5}],
    ],
    {"error": "loading"},
)


def check_reply(data: Any) -> None:
    reply = read_reply(data, len(_TEXTS), ("negative", "positive"))
    assert len(reply.rows) == len(_TEXTS)
    assert len({len(row) for row in reply.rows}) == 1
    assert all(isinstance(number, float) for row in reply.rows for number in row)
    _check_rows(PredictionReader(output=reply.output).read(reply.rows, len(_TEXTS)), len(_TEXTS))


def _check_rows(rows: Any, n: int) -> None:
    assert rows.shape[0] == n
    assert np.isfinite(rows).all()
    assert (rows >= 0).all()
    assert np.allclose(rows.sum(axis=1), 1.0)


def check_output(raw: Any) -> None:
    _check_rows(PredictionReader().read(raw, 3), 3)


class _Response:
    """What the HTTP library would hand over."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status_code, self.headers, self._body = status, headers, body

    def iter_content(self, size: int) -> Iterator[bytes]:
        yield from (self._body[start : start + size] for start in range(0, len(self._body), size))

    def close(self) -> None:
        pass


class _Session:
    def __init__(self, response: _Response) -> None:
        self._response = response

    def post(self, *arguments: Any, **options: Any) -> _Response:
        del arguments, options
        return self._response


def check_endpoint(answer: tuple[int, dict[str, str], bytes]) -> None:
    limits = Limits(attempts=2, max_bytes=4096)
    victim = EndpointVictim("http://127.0.0.1:9/predict", limits=limits, sleep=lambda _: None)
    client = JsonClient("http://127.0.0.1:9/predict", limits=limits, sleep=lambda _: None)
    client._session = _Session(_Response(*answer))
    victim._client = client
    _check_rows(PredictionReader(output=victim.output).read(victim(["one"]), 1), 1)


def _reply(rng: random.Random) -> Any:
    return hostile.json_value(rng) if rng.random() < 0.2 else hostile.disturbed(rng, rng.choice(REPLIES))


def _output(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.3:
        return hostile.disturbed(rng, [[0.2, 0.8], [0.6, 0.4], [1, 0]])
    if kind < 0.4:
        return hostile.json_value(rng)
    shape = rng.choice(((3, 2), (3,), (3, 1), (3, 0), (0, 2), (), (3, 2, 1), (2, 3)))
    values = np.array(rng.choices((0.0, 0.5, 1.0, -1.0, 1e308, -1e308, np.nan, np.inf, 1e-320), k=12))
    dtype = rng.choice((float, "float32", "float16", int, bool, complex, object, "S4", "U4"))
    with np.errstate(all="ignore"):
        try:
            return values[: int(np.prod(shape))].reshape(shape).astype(dtype)
        except (ValueError, OverflowError, TypeError):
            return values


_HEADERS: tuple[dict[str, str], ...] = (
    {},
    {"Retry-After": "1"},
    {"Retry-After": "-5"},
    {"Retry-After": "nan"},
    {"Retry-After": "Wed, 21 Oct"},
)
_STATUSES = (200, 200, 200, 200, 204, 301, 400, 401, 413, 422, 429, 500, 503, 600, 0)


def _answer(rng: random.Random) -> tuple[int, dict[str, str], bytes]:
    body = json.dumps([[{"label": "a", "score": 0.2}, {"label": "b", "score": 0.8}]]).encode()
    bodies = (body, b'{"probabilities": [[0.2, 0.8]]}', b'{"logits": [[1, 2, 3]], "labels": ["a", "b", "c"]}')
    data = hostile.broken(rng, bodies) if rng.random() < 0.7 else hostile.json_text(_reply(rng)).encode()
    return rng.choice(_STATUSES), rng.choice(_HEADERS), data


TARGETS = (
    Target("answer.endpoint reply", check_reply, _reply, hostile.JSON_VALUES),
    Target("answer.endpoint body", check_endpoint, _answer),
    Target("answer.callable output", check_output, _output),
)
