"""A server on loopback that lists substitutes, for proposers of language models."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.chat_server import ChatServer, Reply, serving

SUBSTITUTES: Mapping[str, Sequence[str]] = {
    "good": ["fine", "decent", "great"],
    "meal": ["dinner", "supper"],
    "awful": ["terrible", "gruesome"],
    "cooked": ["prepared"],
}


def listing(body: dict[str, Any], _: int) -> Reply:
    """Substitutes of the words that a question names."""
    data = json.loads(body["messages"][-1]["content"].split("\n")[1])
    rows = [{**row, "substitutes": SUBSTITUTES.get(row["word"].lower(), [])} for row in data["words"]]
    return Reply((json.dumps({"answers": rows}),))


@contextlib.contextmanager
def proposing(monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str) -> Iterator[ChatServer]:
    """A running server that ``llm:NAME`` asks, a cache in ``folder``, and settings as variables."""
    with serving(listing) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        monkeypatch.setenv("RIF_CACHE_DIR", str(folder))
        for name, value in settings.items():
            monkeypatch.setenv(f"RIF_{name.upper()}", value)
        yield server
