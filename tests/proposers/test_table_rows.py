"""Cells of candidate tables as programs and people write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rif_plugins.errors import DataError
from rif_plugins.proposers import TableProposer, TokenContext

CONTEXT = TokenContext("a film", 2, 6)


def proposed(path: Path) -> list[str]:
    return [candidate.text for candidate in TableProposer(path).propose([CONTEXT])[0]]


@pytest.mark.parametrize(
    ("cell", "is_accepted"),
    [
        ("TRUE", True),
        ("True", True),
        ("1", True),
        ("yes", True),
        ("", True),
        ("FALSE", False),
        (" false", False),
        ("0", False),
        ("no", False),
    ],
)
def test_accepted_in_a_csv_file(tmp_path: Path, cell: str, is_accepted: bool) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"token,candidate,accepted\nfilm,movie,{cell}\n", encoding="utf-8")
    assert proposed(path) == ["movie"] * is_accepted


@pytest.mark.parametrize(
    ("cell", "is_accepted"), [(True, True), (1, True), (False, False), (0, False), ("FALSE", False)]
)
def test_accepted_in_json(tmp_path: Path, cell: Any, is_accepted: bool) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"token": "film", "candidate": "movie", "accepted": cell}), encoding="utf-8")
    assert proposed(path) == ["movie"] * is_accepted


@pytest.mark.parametrize("cell", [None, "perhaps", [True], 2])
def test_accepted_that_is_neither(tmp_path: Path, cell: Any) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"token": "film", "candidate": "movie", "accepted": cell}), encoding="utf-8")
    with pytest.raises(DataError, match=r"accepted must be true or false, got"):
        proposed(path)
